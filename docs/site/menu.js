// Links to what stands beside the book, in the menu of every page.
const links = document.createElement("nav");
links.className = "beside";
links.setAttribute("aria-label", "Beside the documents");
for (const [text, to] of [["Playground", "playground"], ["Scorecard", "scorecard"], ["API", "api/seaway_control"]]) {
  const link = document.createElement("a");
  link.textContent = text;
  link.href = `${path_to_root}${to}/index.html`;
  links.append(link);
}
document.querySelector(".right-buttons")?.before(links);
