import { type Html, html } from './html.ts'
import type { Visit } from './visit.ts'

export interface Typed {
  readonly reason: string
  readonly error: string
}

/** Asks for the reason of a stop; after a refusal with what was typed. */
export function stopForm({ base }: Visit, id: string, typed?: Typed): Html {
  return html`<form method="post" action="${base}/stop"><input type="hidden" name="id" value="${id}">
<label>Reason<input id="stop" name="reason" required maxlength="1000" autocomplete="off"${
    typed && html` value="${typed.reason}" aria-invalid="true" aria-describedby="error"`
  }></label><button class="danger">Stop now</button></form>`
}

/** What was wrong with the input, above its form. */
export const errorLine = (text: string | undefined): Html | false =>
  text !== undefined && html`<p class="error" id="error" role="alert">${text}</p>`
