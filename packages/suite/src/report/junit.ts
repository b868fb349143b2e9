/** For CI servers: JUnit's XML, one suite for each run. */
import type { Outcome, Report, Result } from '../run.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Text of an attribute or element. What XML 1.0 cannot hold becomes a replacement character. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids
    .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '\uFFFD')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

const ELEMENTS: Readonly<Partial<Record<Outcome, string>>> = {
  failed: 'failure',
  stale: 'failure',
  broken: 'error',
  known: 'skipped',
  skipped: 'skipped',
}

function testcase({ check, outcome, detail = outcome, seconds }: Result): string {
  const [group = ''] = check.id.split('.')
  const open = `    <testcase classname="${escaped(group)}" name="${escaped(check.id)}" time="${seconds}"`
  const element = ELEMENTS[outcome]
  if (element === undefined) return `${open}/>`
  const body = escaped(`${check.says} (${check.level}, ${check.source})`)
  return `${open}><${element} message="${escaped(detail)}">${body}</${element}></testcase>`
}

function testsuite({ name, results }: Report): string {
  const number = (...elements: string[]) =>
    results.filter(({ outcome }) => elements.includes(ELEMENTS[outcome] ?? '')).length
  const counts = `tests="${results.length}" failures="${number('failure')}" errors="${number('error')}" skipped="${number('skipped')}"`
  return [`  <testsuite name="${escaped(name)}" ${counts}>`, ...results.map(testcase), '  </testsuite>'].join(
    '\n',
  )
}

/** JUnit's XML, which CI servers read: a suite for each run. */
export function junit(reports: readonly Report[]): string {
  const body = reports.map(testsuite).join('\n')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="token-exchange-suite">\n${body}\n</testsuites>\n`
}
