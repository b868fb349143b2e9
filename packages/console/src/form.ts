/** The input of forms, and how pages show it again. */
import { RecordError, type Seconds } from 'oidc-provider-impersonation'
import { type Html, html, invalidRequest, type Value } from 'oidc-provider-impersonation/inside'

/** Fields with what was typed, right or wrong. */
export type Typed<Name extends string = string> = Readonly<Partial<Record<Name, string | undefined>>>

/** The first value of each field that is not blank. */
export function typedIn<Name extends string>(form: string, names: readonly Name[]): Typed<Name> {
  const given = new URLSearchParams(form)
  return Object.fromEntries(names.map((name) => [name, given.get(name) || undefined])) as Typed<Name>
}

/** @throws a refusal that names the field. */
export function secondsIn(field: string, text: string): Seconds {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw invalidRequest({ field, public: `${field} must be whole seconds since the epoch` })
}

/** The result, or what was wrong with the input. Every other error is thrown on. */
export async function tried<Result>(
  work: () => Result | Promise<Result>,
): Promise<{ readonly result?: Result; readonly error?: RecordError }> {
  try {
    return { result: await work() }
  } catch (error) {
    if (error instanceof RecordError && [400, 409].includes(error.status)) return { error }
    throw error
  }
}

/** An input with its label, and with what was typed before. */
export const field = (label: Value, name: string, typed = '', attributes?: Html): Html =>
  html`<label>${label}<input name="${name}" value="${typed}"${attributes}></label>`

/** A text that people write for others to read; `wrong` is the error that the page shows of it. */
export const textField = (label: Value, name: string, typed?: string, wrong?: unknown): Html =>
  field(
    label,
    name,
    typed,
    html` required maxlength="1000"${wrong !== undefined && html` aria-invalid="true" aria-describedby="error"`}`,
  )

/** An address with these fields as its query, without those that are blank. */
export function addressOf(path: string, fields: Typed): string {
  const query = new URLSearchParams()
  for (const [name, value = ''] of Object.entries(fields)) if (value !== '') query.set(name, value)
  return `${path}?${query}`.replace(/\?$/, '')
}
