/** What was measured, against what it may be. */
import * as report from './report.ts'

interface Line {
  readonly fact: string
  readonly limit: number | undefined
  readonly measured: number
  readonly unit: string
  readonly verdict: 'holds' | 'MISSED' | 'aim' | 'aim missed' | ''
}

/** Of one database. */
export interface Facts {
  /** Fails the run if it is more. */
  atMost(fact: string, measured: number, limit: number, unit?: string): void
  /** Fails nothing: it depends on the machine. */
  aim(fact: string, measured: number, limit: number, unit?: string): void
  /** The same of what is to be more. */
  aimAbove(fact: string, measured: number, limit: number): void
  /** Stands beside others. */
  note(fact: string, measured: number, unit?: string): void
}

export class Ledger {
  readonly #lines: Line[] = []
  readonly #factor: number

  /** @param factor of every limit that fails the run. */
  constructor(factor: number) {
    this.#factor = factor
  }

  get missed(): number {
    return this.#lines.filter(({ verdict }) => verdict === 'MISSED').length
  }

  of(about: string): Facts {
    const add = (fact: string, line: Omit<Line, 'fact'>) =>
      void this.#lines.push({ fact: `${about}: ${fact}`, ...line })
    return {
      atMost: (fact, measured, given, unit = '') => {
        const limit = given * this.#factor
        // What could not be measured does not hold.
        add(fact, { limit, measured, unit, verdict: measured <= limit ? 'holds' : 'MISSED' })
      },
      aim: (fact, measured, limit, unit = '') =>
        add(fact, { limit, measured, unit, verdict: measured <= limit ? 'aim' : 'aim missed' }),
      aimAbove: (fact, measured, limit) =>
        add(`${fact}, at least`, {
          limit,
          measured,
          unit: '',
          verdict: measured >= limit ? 'aim' : 'aim missed',
        }),
      note: (fact, measured, unit = '') => add(fact, { limit: undefined, measured, unit, verdict: '' }),
    }
  }

  table(): string {
    const text = (value: number | undefined, unit: string) =>
      value === undefined ? '' : `${value.toLocaleString('en', { maximumFractionDigits: 2 })}${unit}`
    return report.table(
      ['fact', 'limit', 'measured', ''],
      this.#lines.map(({ fact, limit, measured, unit, verdict }) => [
        fact,
        text(limit, unit),
        text(measured, unit),
        verdict,
      ]),
    )
  }
}
