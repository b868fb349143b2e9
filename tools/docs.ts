/**
 * Tables of the pages that name what the code has: options, metrics, columns, indexes and events.
 * `npm run docs` writes the cells that come from the code, and keeps what the page says beside them; a new row has `…` there,
 * for a person to fill in. With `--check` it fails where a table differs, or still has `…`. Either way it fails where a section of
 * docs/protocol.md gives rules to other names than there are, or another scope to a route, and where
 * docs/contributing/conformance.md names a test that there is not.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../fixtures/actor-tokens.ts'
import { countingMeter, withMeter } from '../fixtures/counting-meter.ts'
import { withDeployment } from '../fixtures/deployment.ts'
import { endRun } from '../fixtures/end-of-run.ts'
import { ROOT, readPage } from '../fixtures/markdown.ts'
import { type Json, readDescription } from '../fixtures/openapi.ts'
import { codeOf, namesOf, rowsOf, rulesOf, sectionOf } from '../fixtures/page.ts'
import { exchange, issue } from '../fixtures/requests.ts'
import { uncalledStore as store } from '../fixtures/uncalled-store.ts'
import { resolveOptions as ofClient } from '../packages/client/src/options.ts'
import { resolveOptions as ofVerifier } from '../packages/resource-server/src/options.ts'
import { PARAMETERS } from '../src/exchange/request.ts'
import { resolveOptions } from '../src/options.ts'
import { MODELS, PARTS, type Table as Stored, TOKENS } from '../src/sequelize/tables.ts'

/** The cells after the name, by it; `undefined` is what the page says itself. */
type Rows = ReadonlyMap<string, readonly (string | undefined)[]>

interface Table {
  readonly page: string
  readonly heading: string
  /** What its first column is called. */
  readonly column: string
  readonly rows: Rows
}

const named = (names: readonly string[]): Rows => new Map(names.map((name) => [name, []]))

/** The page says a default in words where it is no number and no switch. */
const options = (resolved: object, inWords: Readonly<Record<string, string>> = {}): Rows =>
  new Map(
    Object.entries(resolved).map(([name, value]) => {
      const isShort = typeof value === 'number' || typeof value === 'boolean'
      return [name, [inWords[name] ?? (isShort ? `\`${value}\`` : undefined)]]
    }),
  )

async function metrics(): Promise<Rows> {
  const meter = countingMeter()
  await withMeter(meter, () => withDeployment({}, async () => {}))
  return new Map(meter.made.map(({ name, unit }) => [name, [`\`${unit}\``]]))
}

const { paths, components } = readDescription()
const { SubjectTokenRequest, IssuedSubjectToken, SubjectToken } = components.schemas

const resolve = (value: Json): Json => {
  const [, kind, name] = /^#\/components\/(\w+)\/(\w+)$/.exec(value.$ref ?? '') ?? []
  return kind && name ? components[kind][name] : value
}

/** The routes, each with its scope if it has one. The exchange is at another server. */
const scopes: ReadonlyMap<string, string | undefined> = new Map(
  Object.entries<Json>(paths)
    .filter(([, methods]) => !methods.servers)
    .flatMap(([route, methods]) =>
      Object.entries<Json>(methods)
        .filter(([, { operationId }]) => operationId)
        .map(([method, { security }]): [string, string | undefined] => {
          const [scope] = security.flatMap(({ managementToken = [] }: Json) => managementToken)
          return [`${method.toUpperCase()} ${route}`, scope]
        }),
    ),
)

/** The members of a record, and those of its objects. */
const members = (): string[] =>
  Object.entries<Json>(SubjectToken.properties).flatMap(([name, schema]) => {
    const { properties, items } = resolve(schema)
    const inner = Object.keys(properties ?? items?.properties ?? {})
    return [name, ...inner.map((member) => `${name}.${member}`)]
  })

/** The columns of a table, and by their columns its indexes. */
const storage = ({ name, columns, key, indexes }: Stored): Table[] => {
  const table = { page: 'docs/contributing/architecture.md', heading: `\`${name}\`` }
  const indexed = [key, ...indexes.map((index) => index.columns)].map((names) => names.join(', '))
  return [
    { ...table, column: 'column', rows: named(Object.keys(columns)) },
    ...(name === MODELS.name ? [] : [{ ...table, column: 'index', rows: named(indexed) }]),
  ]
}

/** The members of what an exchange that sends everything returns, and the claims of its access token. */
async function exchanged(): Promise<{ members: string[]; claims: string[] }> {
  let members: string[] = []
  let claims: string[] = []
  await withDeployment({}, async (deployment) => {
    const { subjectToken } = await issue(deployment)
    const actor = withActor(await actorToken(deployment))
    const { body } = await exchange(deployment, {
      subject_token: subjectToken,
      scope: 'orders:read',
      ...actor,
    })
    members = Object.keys(body)
    claims = [...Object.keys(decodeJwt(body.access_token)), 'cnf', 'read_only']
  })
  return { members, claims }
}
const response = await exchanged()

interface Member {
  readonly name: string
  readonly isOptional: boolean
  readonly type: string
}

/** Types of members by their names in the source, as JSON has them. */
const JSON_TYPES: Readonly<Record<string, string>> = {
  ...{ string: 'string', number: 'number', boolean: 'boolean', true: 'boolean', Seconds: 'seconds' },
  ...{ Check: 'string', AccessTokenEnd: 'string', AccessTokenFormat: 'string' },
  ...{ ActingParty: 'object', ShownRevocation: 'object', SessionUse: 'object', '{': 'object' },
}

function jsonTypeOf(type: string): string {
  const kinds = type
    .replaceAll(/'[^']*'|\(string & \{\}\)/g, 'string')
    .replaceAll('readonly string[]', 'array')
    .replace(/ &.*/, '')
    .split(' | ')
    .map((kind) => (kind === 'array' ? kind : JSON_TYPES[kind]))
  if (kinds.includes(undefined)) throw new Error(`no JSON type for ${type}`)
  return [...new Set(kinds)].join(' or ')
}

/** The members that one level of an interface declares, in a source that biome has formatted. */
const declaredIn = (body: string, indent: string): Member[] =>
  [...body.matchAll(new RegExp(`^${indent}readonly (\\w+)(\\??): (.+)$`, 'gm'))].map(
    ([, name = '', optional, type = '']) => ({
      ...{ name, isOptional: optional === '?', type: jsonTypeOf(type) },
    }),
  )

/** The events by their names, each with the members of its payload; those of an object inside follow it. */
function payloads(): ReadonlyMap<string, readonly Member[]> {
  const bodies = new Map<string, string>()
  for (const [, name = '', parent = '', body = ''] of readPage('src/events.ts').matchAll(
    /^(?:export )?interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}/gms,
  ))
    bodies.set(name, body + (bodies.get(parent) ?? ''))
  const bodyOf = (name: string): string => bodies.get(name) ?? ''
  const events = [...bodyOf('ImpersonationEvents').matchAll(/^ {2}'([\w.]+)': (\w+)$/gm)]
  return new Map(
    events.map(([, event = '', type = '']) => {
      const inner = declaredIn(bodyOf(type), ' {4}').map((member) => ({
        ...{ ...member, name: `accessToken.${member.name}` },
      }))
      return [event, [...declaredIn(bodyOf(type), ' {2}'), ...inner]]
    }),
  )
}
const emitted = payloads()

/** The page says itself when an event is emitted. */
const events = (): Rows =>
  new Map(
    [...emitted].map(([event, members]) => [
      event,
      [
        undefined,
        members
          .filter(({ name }) => !name.includes('.'))
          .map(({ name, isOptional }) => `\`${name}${isOptional ? '?' : ''}\``)
          .join(' '),
      ],
    ]),
  )

/** A member of several events has the types of all of them. */
function eventMembers(): Rows {
  const types = new Map<string, Set<string>>()
  for (const { name, type } of [...emitted.values()].flat())
    types.set(name, new Set([...(types.get(name) ?? []), ...type.split(' or ')]))
  return new Map([...types].map(([name, kinds]) => [name, [[...kinds].join(' or ')]]))
}

/** The parameters of the list. */
const filters = (): string[] =>
  paths['/subject-tokens'].get.parameters.map((parameter: Json) => resolve(parameter).name)

const inWords = { store: 'required', statusList: '`{ ttl: 30 }`', sessions: 'off' }
const coreOptions = options(resolveOptions({ store }), inWords)
const clientOptions = options(ofClient({ issuer: 'https://a', clientId: 'a', clientSecret: 'a' }))
const verifierOptions = options(ofVerifier({ issuer: 'https://a', audience: 'https://b' }))

const TABLES: readonly Table[] = [
  { page: 'docs/reference.md', heading: 'Options', column: 'option', rows: coreOptions },
  { page: 'docs/support-tool.md', heading: 'Options', column: 'option', rows: clientOptions },
  { page: 'docs/resource-servers.md', heading: 'Options', column: 'option', rows: verifierOptions },
  { page: 'docs/alerts.md', heading: 'Metrics', column: 'instrument', rows: await metrics() },
  { page: 'docs/events.md', heading: 'All events', column: 'event', rows: events() },
  { page: 'docs/events.md', heading: 'Members', column: 'member', rows: eventMembers() },
  ...[TOKENS, ...PARTS, MODELS].flatMap(storage),
]

/** What a section of the protocol gives a rule to by name, after the id of the rule: `[M15] \`userId\``. */
const RULES: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['2. Management API', [...scopes.keys()]],
  [
    '2.1 Issue a subject token',
    [...Object.keys(SubjectTokenRequest.properties), ...Object.keys(IssuedSubjectToken.properties)],
  ],
  ['List', filters()],
  ['The record', members()],
  ['3. Token exchange', ['grant_type', ...PARAMETERS]],
  ['3.5 Response', response.members],
  ['4. Access token', response.claims],
]

const rowOf = (cells: readonly string[]): string =>
  `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|\n`

/** The text with this table as the code has it. */
function withTable(text: string, { page, heading, column, rows }: Table): string {
  const section = sectionOf(text, heading)
  const found = new RegExp(`^(\\| ${column} \\|.*\\n\\|[-|: ]+\\|\\n)(?:\\|.*\\n)+`, 'm').exec(section)
  if (!found) throw new Error(`${page} has no table of "${column}" in "${heading}"`)
  const [table, head = ''] = found
  const seen = new Set<string>()
  let current = ''
  const kept = rowsOf(table).flatMap((cells) => {
    // A row without a name is one more of the row above.
    const name = codeOf(cells[0] ?? '')[0] ?? ''
    current = name || current
    const derived = rows.get(current)
    if (!derived) return []
    seen.add(current)
    for (const [index, cell] of name ? derived.entries() : [])
      cells[index + 1] = cell ?? cells[index + 1] ?? '…'
    return rowOf(cells)
  })
  const columns = (head.split('\n')[0] ?? '').split(' | ').length
  const added = [...rows].flatMap(([name, derived]) => {
    if (seen.has(name)) return []
    const cells = Array.from({ length: columns - 1 }, (_, index) => derived[index] ?? '…')
    return rowOf([`\`${name}\``, ...cells])
  })
  const written = [head, ...kept, ...added].join('')
  return text.replace(section, () => section.replace(table, () => written))
}

const problems: string[] = []
const pages = new Map<string, string>()
for (const table of TABLES)
  pages.set(table.page, withTable(pages.get(table.page) ?? readPage(table.page), table))
for (const [page, text] of pages) {
  if (!process.argv.includes('--check')) writeFileSync(path.join(ROOT, page), text)
  else if (text !== readPage(page) || text.includes('| … |'))
    problems.push(`${page} differs from what the code has: npm run docs, and read what has changed`)
}
const protocolText = readPage('docs/protocol.md')
for (const [heading, names] of RULES) {
  const ruled = namesOf(rulesOf(sectionOf(protocolText, heading)))
  const missing = names.filter((name) => !ruled.includes(name))
  const invented = ruled.filter((name) => !names.includes(name))
  if (missing.length + invented.length > 0)
    problems.push(
      `docs/protocol.md, ${heading}: no rule for: ${missing}; a rule for what is not there: ${invented}`,
    )
}
for (const [name = '', text = ''] of rulesOf(sectionOf(protocolText, '2. Management API'))) {
  const [route = ''] = codeOf(name)
  const scope = scopes.get(route)
  if (!text.startsWith(scope ? `, \`${scope}\`: ` : ': '))
    problems.push(`docs/protocol.md: the scope of ${route} is ${scope}`)
}
for (const [, title = '', file = ''] of readPage('docs/contributing/conformance.md').matchAll(
  /\[([^\]]+)\]\(\.\.\/\.\.\/((?:test|packages)\/[^)]+)\)/g,
))
  if (!readPage(file).includes(title))
    problems.push(`docs/contributing/conformance.md names "${title}", which ${file} does not have`)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
await endRun()
