// A small curve of the label's probability along the path.
function curveOf(explanation, group) {
  if (!explanation.steps.length) return [];
  const label = explanation.curveLabel(group.label);
  const values = explanation.probabilities(label);
  const [bottom, top] = explanation.isOutput ? [Math.min(...values), Math.max(...values)] : [0, 1];
  const [width, height, left, right, edge] = [320, 120, 34, 8, 16];
  const x = (k) => left + 6 + ((width - left - 6 - right) * k) / (values.length - 1);
  const y = (value) => height - edge - ((height - 2 * edge) * (value - bottom)) / (top - bottom || 1);
  const point = (k) => `${x(k).toFixed(1)},${y(values[k]).toFixed(1)}`;
  const what = explanation.isOutput ? "Score" : "Probability";
  const svg = makeSvg("svg", {
    class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${what} of ${label} after each deletion: ${values.map((v) => v.toFixed(3)).join(", ")}`,
  });
  for (const value of [bottom, (bottom + top) / 2, top]) {
    svg.append(
      makeSvg("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      makeSvg("text", { x: left - 4, y: y(value) + 3, "text-anchor": "end" }, value.toFixed(explanation.isOutput ? 2 : 1)));
  }
  svg.append(
    makeSvg("text", { x: x(0), y: height - 3, "text-anchor": "middle" }, "0"),
    makeSvg("text", { x: width - right, y: height - 3, "text-anchor": "end" }, `${values.length - 1} deleted`),
    makeSvg("polyline", { class: "line", points: values.map((_, k) => point(k)).join(" ") }));
  const turn = explanation.steps.findIndex(([, , prediction]) => prediction !== explanation.prediction) + 1;
  if (turn > 0) {
    const [side, anchor] = turn > (values.length - 1) / 2 ? [-4, "end"] : [4, "start"];
    svg.append(
      makeSvg("line", { class: "turn", x1: x(turn), x2: x(turn), y1: edge, y2: height - edge }),
      makeSvg("text", { x: x(turn) + side, y: edge - 5, "text-anchor": anchor }, `now ${shortened(explanation.steps[turn - 1][2], 24)}`));
  }
  values.forEach((value, k) => svg.append(makeSvg("circle", { cx: x(k), cy: y(value), r: 2 })));
  const now = Math.min(group.deleted, values.length - 1);
  svg.append(makeSvg("circle", { class: "now", cx: x(now), cy: y(values[now]), r: 5 }));
  return [svg];
}
