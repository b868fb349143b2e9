/** What `check` found out about one thing. */
export interface Finding {
  /** `ok`; `note`: it was not looked at; `warning`: it may be meant; `fault`: it does not work, or is a hole. */
  readonly level: 'ok' | 'note' | 'warning' | 'fault'
  /** What was looked at, in a word or two. */
  readonly about: string
  readonly text: string
  /** What to do. */
  readonly advice?: string
}

export const ok = (about: string, text: string): Finding => ({ level: 'ok', about, text })
export const note = (about: string, text: string): Finding => ({ level: 'note', about, text })
export const warning = (about: string, text: string, advice: string): Finding => ({
  level: 'warning',
  about,
  text,
  advice,
})
export const fault = (about: string, text: string, advice: string): Finding => ({
  level: 'fault',
  about,
  text,
  advice,
})

/** The message of an error, or of what is no error. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** An error may quote the address of a database: up to the last `@`, since passwords are not always encoded. */
export const withoutCredentials = (text: string): string => text.replace(/\/\/\S*@/g, '//***@')
