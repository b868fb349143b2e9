/** Section 2 of docs/protocol.md, compared with `openapi.json`, which other tests compare with real responses. */
import { expect } from 'chai'
import { readPage } from '../../fixtures/markdown.ts'
import { type Json, readDescription } from '../../fixtures/openapi.ts'
import { codeOf, errorsOf, expectSameErrors, namesOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { LIMIT as BODY_LIMIT } from '../../src/http/body.ts'
import { RETRY_AFTER } from '../../src/outage.ts'
import { MAX_NAME_LENGTH } from '../../src/plain-json.ts'
import { MAX_CONTEXT_BYTES, MAX_CONTEXT_LEVELS } from '../../src/records/issue.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../src/records/list.ts'

const PAGE = readPage('docs/protocol.md')
const { paths, components } = readDescription()

const section = (title: string): string => sectionOf(PAGE, title)
/** The rows of the table in a section that has this many columns. */
const rows = (title: string, columns: number): string[][] =>
  rowsOf(section(title)).filter((cells) => cells.length === columns)

const resolve = (value: Json): Json => {
  const [, kind, name] = /^#\/components\/(\w+)\/(\w+)$/.exec(value.$ref ?? '') ?? []
  return kind && name ? components[kind][name] : value
}

/** Every operation of the management API. The exchange is at another server. */
const operations = Object.entries<Json>(paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods)
    .filter(([, { operationId }]) => operationId && !methods.servers)
    .map(([name, operation]) => ({ path, method: name.toUpperCase(), operation })),
)

const queryOf = ({ parameters = [] }: Json): string[] =>
  parameters
    .map(resolve)
    .filter((parameter: Json) => parameter.in === 'query')
    .map((parameter: Json) => parameter.name)

describe('docs: the protocol of the management API', () => {
  it('has every query parameter', () => {
    const names = operations.flatMap(({ operation }) => queryOf(operation))
    expect(names.length).to.be.greaterThan(6)
    const counted = codeOf(section('Count')).filter((name) => name === 'days')
    expect([...namesOf(rows('List', 2)), ...counted]).to.include.members(names)
    const ofDelete = operations.filter(({ method }) => method === 'DELETE')
    const [, told = ''] =
      /with exactly one of (.*?), matched/s.exec(section('Revoke all of a user, an actor or a backend')) ?? []
    expect(codeOf(told)).to.include.members(ofDelete.flatMap(({ operation }) => queryOf(operation)))
  })

  it('has every error with its text', () => {
    const responses = operations.flatMap(({ operation }) => Object.entries<Json>(operation.responses))
    const examples = [...responses, ['405', components.responses.MethodNotAllowed] as const]
      // 429 has no text: it is the host's.
      .filter(([status]) => Number(status) >= 400 && status !== '429')
      .flatMap(([status, response]) =>
        Object.values<Json>(resolve(response).content['application/json'].examples).map(({ value }) => ({
          status,
          error: value.error,
          text: value.error_description,
        })),
      )
    expectSameErrors(errorsOf(section('2.4 Errors')), examples)
    expect(section('2.4 Errors')).to.include(`\`Retry-After: ${RETRY_AFTER}\``).and.to.include('gets 429')
  })

  it('has the limits', () => {
    expect(section('2.1 Issue a subject token'))
      .to.include(`${MAX_NAME_LENGTH} Unicode code points`)
      .and.include(`${MAX_CONTEXT_BYTES / 1024} KiB`)
      .and.include(`${MAX_CONTEXT_LEVELS} levels`)
      .and.include(`${BODY_LIMIT / 1024} KiB`)
    expect(section('List')).to.include(`from 1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} by default`)
  })
})
