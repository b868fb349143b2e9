/** Runs the checks of a configuration, one after the other, and tells how each ended. */
import { CATALOGUE, FIRST } from './catalogue.ts'
import { type Check, type Described, Failed, Skipped } from './check.ts'
import type { Deviation } from './deviations.ts'
import type { Configuration, Profile } from './driver.ts'
import { Session } from './session.ts'

/**
 * - `passed`: also with a named deviation
 * - `failed`: the server does not keep the rule
 * - `known`: it fails, and the file of known deviations says so
 * - `stale`: it passes, and the file of known deviations says that it fails
 * - `skipped`: it could not be run; the detail says why
 * - `broken`: the driver or the connection failed
 */
export type Outcome = 'passed' | 'failed' | 'known' | 'stale' | 'skipped' | 'broken'

/** The outcome of one check. */
export interface Result {
  readonly check: Described
  readonly outcome: Outcome
  readonly detail?: string
  readonly deviations: readonly Deviation[]
  readonly seconds: number
}

/** The results of one configuration. */
export interface Report {
  readonly name: string
  readonly profiles: readonly Profile[]
  readonly results: readonly Result[]
}

/** How much is run, and what is done with each result. */
export interface RunOptions {
  /** Without the checks that send many requests at once. */
  readonly noLoad?: boolean
  /** Only checks whose id starts with one of these; the first check runs in any case. */
  readonly only?: readonly string[]
  /** More known deviations, on top of the configuration's. */
  readonly known?: Readonly<Record<string, string>>
  /** Called when a check has ended: for progress. */
  readonly onResult?: (result: Result) => void
}

/**
 * Runs every check that applies, one after the other.
 *
 * @throws {Error} if the driver cannot be opened, or a known deviation names no check.
 */
export async function run(configuration: Configuration, options: RunOptions = {}): Promise<Report> {
  const { name, profiles } = configuration
  const known = { ...configuration.known, ...options.known }
  assertIds(known)
  const driver = await configuration.open()
  const results: Result[] = []
  try {
    const session = new Session(driver, profiles)
    for (const check of selected(profiles, options)) {
      const result = judged(await runOne(check, session, results), known[check.id])
      results.push(result)
      options.onResult?.(result)
    }
  } finally {
    await driver.close?.()
  }
  return { name, profiles, results }
}

/** No unexpected failure, and no entry of the file of known deviations that is out of date. */
export const isGreen = ({ results }: Report): boolean =>
  results.every(({ outcome }) => outcome === 'passed' || outcome === 'known' || outcome === 'skipped')

function selected(profiles: readonly Profile[], { noLoad, only }: RunOptions = {}): Check[] {
  return CATALOGUE.filter(
    (check) =>
      (check.profiles ?? []).every((profile) => profiles.includes(profile)) &&
      !(noLoad && check.load) &&
      (check.id === FIRST || !only || only.some((start) => check.id.startsWith(start))),
  )
}

function assertIds(known: Readonly<Record<string, string>>): void {
  const ids = new Set(CATALOGUE.map(({ id }) => id))
  for (const id of Object.keys(known)) {
    if (!ids.has(id)) throw new Error(`the known deviation "${id}" is not the id of a check`)
  }
}

async function runOne(check: Check, session: Session, before: readonly Result[]): Promise<Result> {
  const started = performance.now()
  session.deviations.clear()
  const ended = await outcomeOf(check, session, before)
  const seconds = Math.round(performance.now() - started) / 1000
  return { check, deviations: [...session.deviations], seconds, ...ended }
}

async function outcomeOf(
  check: Check,
  session: Session,
  before: readonly Result[],
): Promise<Pick<Result, 'outcome' | 'detail'>> {
  const missing = [FIRST, check.after].find(
    (id) => id !== undefined && before.some((one) => one.check.id === id && one.outcome !== 'passed'),
  )
  if (missing !== undefined) return { outcome: 'skipped', detail: `proves nothing while ${missing} fails` }
  try {
    await check.run(session)
    return { outcome: 'passed' }
  } catch (error) {
    if (error instanceof Skipped) return { outcome: 'skipped', detail: error.message }
    const detail = withoutTokens(messageOf(error))
    return { outcome: error instanceof Failed ? 'failed' : 'broken', detail }
  }
}

/** A server may quote what it was sent, and reports end up in the logs of CI. */
const withoutTokens = (text: string): string => text.replaceAll(/[\w-]{32,}(\.[\w-]*)*/g, '…')

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

function judged(result: Result, reason: string | undefined): Result {
  if (reason === undefined) return result
  if (result.outcome === 'failed')
    return { ...result, outcome: 'known', detail: `${result.detail} (known: ${reason})` }
  if (result.outcome !== 'passed') return result
  return { ...result, outcome: 'stale', detail: `listed as known to fail ("${reason}"), but it passes` }
}
