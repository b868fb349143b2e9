import type { Client } from 'oidc-provider'
import { messageOf, TooLate } from 'oidc-provider-impersonation/inside'

/** One finding of `check`. */
export interface Finding {
  /** `ok`; `note`: it was not looked at; `warning`: it may be meant; `fault`: it does not work, or is a hole. */
  readonly level: 'ok' | 'note' | 'warning' | 'fault'
  /** The subject, in a word or two. */
  readonly about: string
  readonly text: string
  /** The remedy. */
  readonly advice?: string
}

type Said = (about: string, text: string) => Finding
type Advised = (about: string, text: string, advice: string) => Finding
export const ok: Said = (about, text) => ({ level: 'ok', about, text })
export const note: Said = (about, text) => ({ level: 'note', about, text })
export const warning: Advised = (about, text, advice) => ({ level: 'warning', about, text, advice })
export const fault: Advised = (about, text, advice) => ({ level: 'fault', about, text, advice })

export const namesOf = (clients: readonly Client[]): string =>
  clients.map(({ clientId }) => clientId).join(', ')

/** `missing`: what a client needs that may. */
export const someoneMay = (about: string, found: readonly Client[], missing: string): Finding =>
  found.length > 0
    ? ok(about, namesOf(found))
    : warning(
        about,
        'no static client, and none that an example names: only a stored client could',
        `${missing}, or name a stored client in an example`,
      )

export const namedOrNone = (about: string, found: readonly Client[]): Finding =>
  found.length > 0
    ? ok(about, namesOf(found))
    : note(about, 'no static client, and none that an example names: others were not looked at')

/** An error that a function of the deployment threw: its message, and where. */
export function thrownOf(thrown: unknown): string {
  const stack = thrown instanceof Error && !(thrown instanceof TooLate) ? thrown.stack : undefined
  const [, where] = /^\s+(at .+:\d+:\d+\)?)$/m.exec(stack ?? '') ?? []
  return where === undefined ? messageOf(thrown) : `${messageOf(thrown)} (${where})`
}

/** The description of an error of the provider, or the message of another. */
export const descriptionOf = (error: unknown): string => {
  const description: unknown = Reflect.get(Object(error), 'error_description')
  return typeof description === 'string' ? description : messageOf(error)
}
