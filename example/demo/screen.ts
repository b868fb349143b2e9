/** Prints the flow for a person to read. */
import { styleText } from 'node:util'
import { shortened, withoutTokens } from './shortened.ts'

type Style = Parameters<typeof styleText>[0]
const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined
const paint = (style: Style, text: string): string =>
  colours ? styleText(style, text, { validateStream: false }) : text

const print = (text = '') => console.log(text)
const indent = (text: string, by = '    '): string => text.replace(/^(?=.)/gm, by)
let steps = 0

export function title(text: string): void {
  print(`\n${paint('bold', text)}`)
}

export function step(text: string, explanation: string): void {
  steps += 1
  print(`\n${paint(['bold', 'cyan'], `${steps}. ${text}`)}`)
  print(indent(paint('dim', explanation)))
}

export interface ShownRequest {
  readonly method: string
  readonly url: URL
  readonly authorization?: string
  readonly body?: URLSearchParams | string
}

export function request({ method, url, authorization, body }: ShownRequest): void {
  print(`\n    ${paint('yellow', `→ ${method} ${url.pathname}`)}`)
  if (authorization) print(indent(`Authorization: ${shortened(authorization)}`, '      '))
  if (body instanceof URLSearchParams) print(indent(table(body), '      '))
  else if (body) print(indent(json(JSON.parse(body)), '      '))
}

let nextMark: string | undefined

/** Makes the next response stand out, and says what it is. */
export function markResponse(says: string): void {
  nextMark = says
}

/** Stands out without colours, too. */
const marked = (line: string, says: string): string =>
  `${paint(['bold', 'inverse'], line)}  ${paint('bold', `◀ ${says}`)}`

export function response(status: number, body?: unknown): void {
  const line = `← ${status}`
  print(`    ${nextMark ? marked(line, nextMark) : paint(status < 400 ? 'green' : 'magenta', line)}`)
  nextMark = undefined
  if (body !== undefined) print(indent(json(body), '      '))
}

export function hops(requests: number): void {
  print(`    ${paint('dim', `The browser: ${requests} requests to the pages of the provider.`)}`)
}

/**
 * A decoded token is not a credential: its signature has been removed. `marks` says what the claims are that matter.
 */
export function token(name: string, claims: object, marks: Readonly<Record<string, string>> = {}): void {
  print(`\n    ${paint('bold', `The ${name}, decoded`)}`)
  const shown = Object.entries(claims)
  const matters = ([claim]: [string, unknown]) => claim in marks
  // What matters comes first.
  for (const [claim, value] of [...shown.filter(matters), ...shown.filter((one) => !matters(one))]) {
    const line = `${claim}: ${JSON.stringify(value)}`
    const says = marks[claim]
    print(`      ${says ? marked(line, says) : line}`)
  }
}

export const stopped = (): void => print('\nThe server of the demo has stopped.')

/** The last words. */
export function summary(checks: number, passed: number, seconds: number): void {
  if (passed === checks) title('Every response was as promised.')
  print(`\n${passed} of ${checks} checks in ${seconds.toFixed(1)} s.`)
  if (passed < checks) return
  print(paint('dim', 'The five lines with ◀ are what it is about.'))
  print('\nNext:')
  print('    npm start                opens the support desk and the console: do the same in your browser')
  print('    docs/sessions.md         open an application as the user: who sees what of it')
  print('    docs/tutorial.md         from an empty folder to this in ten minutes')
  print('    docs/support-tool.md     what your support tool does, step by step')
}

export function verdict(what: string, found: readonly string[]): void {
  if (found.length === 0) print(`    ${paint('green', `✓ ${what}: as promised`)}`)
  for (const difference of found) print(`    ${paint('red', `✗ ${difference}`)}`)
}

function table(parameters: URLSearchParams): string {
  const width = Math.max(...[...parameters.keys()].map(({ length }) => length))
  return [...parameters].map(([name, value]) => `${name.padEnd(width)}  ${shortened(value)}`).join('\n')
}

const json = (value: unknown): string => JSON.stringify(withoutTokens(value), null, 2)
