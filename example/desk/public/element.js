/** Makes DOM without HTML: text stays text, whoever wrote it. */

export const byId = (id) => document.getElementById(id)

/** `properties` are those of the DOM object, such as `className`; names with a dash are attributes. */
export function element(name, properties, ...children) {
  const made = document.createElement(name)
  for (const [property, value] of Object.entries(properties)) {
    if (property.includes('-')) made.setAttribute(property, value)
    else made[property] = value
  }
  made.append(...children)
  return made
}
