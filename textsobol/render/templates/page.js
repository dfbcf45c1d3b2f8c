const page = JSON.parse(document.getElementById("data").textContent);
new Group(document.body, [...document.querySelectorAll(".card")], page.items.map((data) => new Explanation(data)), new Details(), page.measures);
