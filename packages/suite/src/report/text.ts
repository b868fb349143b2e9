/** For people: one line for each check while it runs, and at the end what to look at. */
import { styleText } from 'node:util'
import { DEVIATIONS, type Deviation } from '../deviations.ts'
import { isGreen, type Outcome, type Report, type Result } from '../run.ts'

const SIGNS: Readonly<Record<Outcome, string>> = {
  passed: '✓',
  failed: '✗',
  known: '~',
  stale: '!',
  skipped: '-',
  broken: '!',
}

type Colour = 'green' | 'red' | 'yellow' | 'dim'
const COLOURS: Readonly<Record<Outcome, Colour>> = {
  passed: 'green',
  failed: 'red',
  known: 'yellow',
  stale: 'red',
  skipped: 'dim',
  broken: 'red',
}

/** Paints where the terminal shows colours; plain text elsewhere. */
const paint = (colour: Colour, text: string): string => styleText(colour, text, { stream: process.stdout })

/** The server under test, and the profiles it claims. */
export function heading({ name, profiles }: Pick<Report, 'name' | 'profiles'>): string {
  return `\n${name}\n${paint('dim', `profiles: ${profiles.join(', ')}`)}\n`
}

/**
 * The line of a check; `undefined` for one that was not run, because the summary lists these by reason. What did not pass
 * brings the requirement and what happened instead.
 */
export function line({ check, outcome, detail, deviations }: Result): string | undefined {
  const sign = paint(COLOURS[outcome], SIGNS[outcome])
  const load = check.load ? paint('dim', ' (load)') : ''
  const named = deviations.length > 0 ? paint('yellow', ` deviates: ${deviations.join(', ')}`) : ''
  if (outcome === 'passed') return `  ${sign} ${check.id}${load}${named}`
  if (outcome === 'skipped') return undefined
  return [
    `  ${sign} ${check.id}${load}  ${check.level}, ${check.source}`,
    `      ${check.says}`,
    `      ${paint(COLOURS[outcome], detail ?? outcome)}`,
  ].join('\n')
}

const count = ({ results }: Report, outcome: Outcome): number =>
  results.filter((result) => result.outcome === outcome).length

/** The totals, the named deviations with what they mean, and what was left out. */
export function summary(report: Report): string {
  const { results } = report
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0)
  const deviating = results.filter(({ deviations }) => deviations.length > 0).length
  const totals = [
    `${count(report, 'passed')} passed${deviating > 0 ? ` (${deviating} with a named deviation)` : ''}`,
    ...(['failed', 'known', 'stale', 'broken', 'skipped'] as const)
      .filter((outcome) => count(report, outcome) > 0)
      .map((outcome) => `${count(report, outcome)} ${outcome}`),
  ]
  const verdict = paint(isGreen(report) ? 'green' : 'red', `${totals.join(', ')}, in ${seconds.toFixed(1)} s`)
  return ['', `  ${verdict}`, ...byLevel(report), ...deviationsOf(results), ...notRun(results), ''].join('\n')
}

function byLevel({ results }: Report): string[] {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  if (failed.length === 0) return []
  const levels = (['MUST', 'SHOULD', 'BCP', 'advisory'] as const)
    .map((level) => [level, failed.filter(({ check }) => check.level === level).length] as const)
    .filter(([, number]) => number > 0)
  return [`  failed by level: ${levels.map(([level, number]) => `${number} ${level}`).join(', ')}`]
}

/** The checks that were left out, by reason. */
function notRun(results: readonly Result[]): string[] {
  const skipped = results.filter(({ outcome }) => outcome === 'skipped')
  const reasons = new Map(skipped.map(({ detail = '' }) => [detail, [] as string[]]))
  for (const { check, detail = '' } of skipped) reasons.get(detail)?.push(check.id)
  if (reasons.size === 0) return []
  const lines = [...reasons].map(([reason, ids]) => {
    const which = ids.length > MOST_NAMED ? `${ids.length} checks` : ids.join(', ')
    return `    ${SIGNS.skipped} ${reason}: ${which}`
  })
  return ['  not run:', ...lines]
}

const MOST_NAMED = 10

function deviationsOf(results: readonly Result[]): string[] {
  const found = new Map<Deviation, number>()
  for (const name of results.flatMap(({ deviations }) => deviations))
    found.set(name, (found.get(name) ?? 0) + 1)
  if (found.size === 0) return []
  const lines = [...found].map(([name, times]) => `    ${name} (${times} ×): ${DEVIATIONS[name]}`)
  return ['  named deviations:', ...lines]
}
