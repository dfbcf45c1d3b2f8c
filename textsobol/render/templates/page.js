const page = JSON.parse(document.getElementById("data").textContent);
new Group(document.body, [...document.querySelectorAll(".card")], page.map((data) => new Explanation(data)), new Details());
