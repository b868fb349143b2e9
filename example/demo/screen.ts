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

export function response(status: number, body?: unknown): void {
  print(`    ${paint(status < 400 ? 'green' : 'magenta', `← ${status}`)}`)
  if (body !== undefined) print(indent(json(body), '      '))
}

export function hop(method: string, url: URL, response: Response): void {
  const location = response.headers.get('location')
  const to = location ? `, on to ${shortened(new URL(location, url).pathname)}` : ''
  print(`    ${paint('dim', `${method} ${shortened(url.pathname)}: ${response.status}${to}`)}`)
}

/** A decoded token is not a credential: its signature has been removed. */
export function token(name: string, decoded: object): void {
  print(`\n    ${paint('bold', `The ${name}, decoded`)}`)
  print(indent(JSON.stringify(decoded, null, 2), '      '))
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
