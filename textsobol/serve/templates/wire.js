// Requests to this server, and nowhere else.
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

class Wire {
  constructor() {
    const numbers = crypto.getRandomValues(new Uint32Array(4));
    this.tab = Array.from(numbers, (number) => number.toString(16).padStart(8, "0")).join("-");
  }

  async send(path, body, options = {}) {
    let response;
    try {
      response = await fetch(`/api/${path}`, {
        method: "POST", body: JSON.stringify({ tab: this.tab, ...body }), credentials: "same-origin", ...options,
        headers: { "Content-Type": "application/json", ...options.headers },
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, "the server does not answer; is textsobol serve still running?");
    }
    if (response.ok) return response;
    const answer = await response.json().catch(() => ({}));
    throw new Refused(response.status, answer.error || `the server said ${response.status}`);
  }

  async ask(path, body = {}, options = {}) {
    return (await this.send(path, body, options)).json();
  }

  // The token comes in the fragment, which browsers never send; a cookie takes its place.
  async login() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!token) return;
    history.replaceState(null, "", "/");
    await this.ask("login", {}, { headers: { Authorization: `Bearer ${token}` } });
  }

  // Calls take(event, data) for every event of the stream.
  async follow(path, body, signal, take) {
    const response = await this.send(path, body, { signal });
    const [reader, decoder] = [response.body.getReader(), new TextDecoder()];
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const event = /^event: (.*)$/m.exec(block);
        const data = /^data: (.*)$/m.exec(block);
        if (event && data) take(event[1], JSON.parse(data[1]));
      }
    }
  }

  forget() {
    fetch("/api/forget", {
      method: "POST", body: JSON.stringify({ tab: this.tab }), keepalive: true, headers: { "Content-Type": "application/json" },
    }).catch(() => {});
  }
}
