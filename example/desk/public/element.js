/** Builds the DOM without HTML, so text stays text, no matter who wrote it. */

export const byId = (id) => document.getElementById(id)

/** `ariaLabel` names it for screen readers, where its text alone says too little. */
export const button = (text, { ariaLabel = null, ...properties }) =>
  element('button', { type: 'button', ariaLabel, ...properties }, text)

/** A row of a list of facts. */
export const fact = (name, ...content) => [element('dt', {}, name), element('dd', {}, ...content)]

/** `properties` are properties of the DOM object, such as `className`. Names with a dash become attributes. */
export function element(name, properties, ...children) {
  const made = document.createElement(name)
  for (const [property, value] of Object.entries(properties)) {
    if (property.includes('-')) made.setAttribute(property, value)
    else made[property] = value
  }
  made.append(...children)
  return made
}
