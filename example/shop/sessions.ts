/** The shop's own sessions, in the memory of one process. Yours are in a database or a cache. */
import { randomBytes } from 'node:crypto'

export interface Session {
  /** All that the ID token says. */
  readonly claims: Readonly<Record<string, unknown>>
  /** `sub` of the ID token. */
  readonly customer: string
  readonly name: string
  /** `act` of the ID token: who acts as the customer. Absent: the customer. */
  readonly actor?: string
  /** The session at the provider. A logout token names it. */
  readonly sid?: string
  /** Proves which session at the provider is to end. It leaves this process for the provider only. */
  readonly idToken: string
  /** In seconds since the epoch. */
  readonly endsAt: number
}

/** One that has ended is known for a while. */
interface Ended {
  readonly hasEnded: true
  /** The session at the provider, where someone acted as the customer: who stopped it, and why, is found by it. */
  readonly actedIn?: string | undefined
}

export type Found = Session | Ended | undefined

export const isOpen = (found: Found): found is Session => found !== undefined && !('hasEnded' in found)

/** Seconds for which a browser is told that its session has ended. */
const REMEMBERED = 3600

const now = () => Date.now() / 1000

export class Sessions {
  readonly #kept = new Map<
    string,
    { session?: Session; readonly actedIn: string | undefined; readonly forgetAt: number }
  >()

  /** Returns the value of the cookie: random, and new at every sign-in. */
  begin(session: Session): string {
    for (const [id, { forgetAt }] of this.#kept) if (forgetAt < now()) this.#kept.delete(id)
    const id = randomBytes(32).toString('base64url')
    this.#kept.set(id, {
      session,
      actedIn: session.actor && session.sid,
      forgetAt: session.endsAt + REMEMBERED,
    })
    return id
  }

  find(id = ''): Found {
    const kept = this.#kept.get(id)
    if (!kept || kept.forgetAt < now()) return undefined
    if (kept.session && kept.session.endsAt > now()) return kept.session
    return { hasEnded: true, actedIn: kept.actedIn }
  }

  /** Nothing of the customer stays: only that it has ended. */
  end(id = ''): void {
    const kept = this.#kept.get(id)
    if (kept) kept.session = undefined
  }

  /** All that were begun in one session at the provider, and no other one of the same customer. */
  endOf(sid: string): void {
    for (const kept of this.#kept.values()) if (kept.session?.sid === sid) kept.session = undefined
  }

  forget(id = ''): void {
    this.#kept.delete(id)
  }
}
