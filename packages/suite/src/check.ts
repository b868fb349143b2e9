/** One requirement of a specification, and how to see over HTTP whether a server keeps it. */
import type { Profile } from './driver.ts'
import type { Session } from './session.ts'

/**
 * How binding a check is. `MUST` and `SHOULD` are the words of an RFC, `BCP` is RFC 9700 or common practice that no RFC
 * words as a requirement, and `advisory` comes from a published weakness of another product.
 */
export type Level = 'MUST' | 'SHOULD' | 'BCP' | 'advisory'

/** The description of a check. */
export interface Described {
  /** Stable: files of known deviations refer to it. */
  readonly id: string
  /** The requirement in one sentence. */
  readonly says: string
  /** Where it is written: an RFC with its section, or the advisory. */
  readonly source: string
  readonly level: Level
  /** It applies to servers that claim all of these. Absent: to every server. */
  readonly profiles?: readonly Profile[]
  /** A refusal proves nothing where the valid request is refused too: the check that must pass first. */
  readonly after?: string
  /** It sends many requests at once. `--no-load` leaves it out. */
  readonly load?: true
}

export interface Check extends Described {
  /** Returns if the server keeps the rule, and throws `Failed` or `Skipped` otherwise. */
  run(session: Session): Promise<void>
}

/** The server does not keep the rule. The message says what it did; it never contains a token. */
export class Failed extends Error {
  override readonly name = 'Failed'
}

/** The check cannot be run against this server, and why. */
export class Skipped extends Error {
  override readonly name = 'Skipped'
}
