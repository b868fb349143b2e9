/** A button that copies a text. */
import { element } from './element.js'

/** `what` names it for screen readers. */
export function copyButton(text, what) {
  const button = element(
    'button',
    { type: 'button', className: 'copy', 'aria-label': `Copy ${what}` },
    'Copy',
  )
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    button.textContent = copied ? 'Copied' : 'Not copied'
    button.ariaLabel = `${button.textContent}: ${what}`
  })
  return button
}
