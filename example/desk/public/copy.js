/** A button that copies a text. */
import { button } from './element.js'

/** `what` names it for screen readers. */
export function copyButton(text, what) {
  async function onclick({ currentTarget }) {
    const told = await navigator.clipboard.writeText(text).then(
      () => 'Copied',
      () => 'Not copied',
    )
    currentTarget.textContent = told
    currentTarget.ariaLabel = `${told}: ${what}`
  }
  return button('Copy', { className: 'copy', ariaLabel: `Copy ${what}`, onclick })
}
