/** What the pages say of types, compared with the types by the compiler. */
import { expect } from 'chai'
import { compile, readPage } from '../../../fixtures/markdown.ts'
import { codeOf, namesOf, rowsOf, rulesOf, sectionOf } from '../../../fixtures/page.ts'

/** An error names what the page does not, and what it has invented. */
const HEADER = `
import type { CustomClaimsRequest, Check, ImpersonationEvents } from 'oidc-provider-impersonation'
import type { ImpersonationPolicyRequest, OnBehalfOfPolicyRequest } from 'oidc-provider-impersonation'
import type { ExchangeRequest, IssueRequest, OnBehalfOfRequest } from 'oidc-provider-impersonation-client'
type Always<T> = { [K in keyof T]-?: {} extends Pick<T, K> ? never : K }[keyof T]
type Has<T, Told> = [Exclude<T, Told>] extends [never] ? [] : [missing: Exclude<T, Told>]
type Is<T, Told> = [Exclude<Told, T>] extends [never] ? Has<T, Told> : [invented: Exclude<Told, T>]
`

const EVENTS = readPage('docs/events.md')
const PROTOCOL = readPage('docs/protocol.md')

const assertion = (type: string, told: readonly string[]): string =>
  `${type}, ${told.map((name) => JSON.stringify(name)).join(' | ') || 'never'}> = []`
/** The words in the code of a row, beside its name. */
const wordsOf = (cells: readonly string[]): string[] =>
  codeOf(cells.slice(1).join(' ')).flatMap((code) => code.match(/\w+/g) ?? [])

function eventsOf(): string[] {
  const rows = rowsOf(sectionOf(EVENTS, 'All events'))
  return [
    assertion('Is<keyof ImpersonationEvents', namesOf(rows)),
    ...rows.flatMap((row) => {
      const members = codeOf(row[2] ?? '')
      const type = `ImpersonationEvents['${namesOf([row])[0]}']`
      const always = members.filter((name) => !name.endsWith('?'))
      return [
        assertion(
          `Is<keyof ${type}`,
          members.map((name) => name.replace('?', '')),
        ),
        assertion(`Is<Always<${type}>`, always),
      ]
    }),
  ]
}

function policyOf(): string[] {
  const rows = rulesOf(sectionOf(PROTOCOL, '5.1 `isAllowed`'))
  const inner = {
    actor: 'Impersonation',
    client: 'Impersonation',
    createdBy: 'Impersonation',
    subjectToken: 'OnBehalfOf',
  }
  return [
    assertion('Is<keyof ImpersonationPolicyRequest | keyof OnBehalfOfPolicyRequest', namesOf(rows)),
    ...Object.entries(inner).map(([member, of]) => {
      const row = rows.find((cells) => namesOf([cells])[0] === member) ?? []
      return assertion(`Has<keyof NonNullable<${of}PolicyRequest['${member}']>`, wordsOf(row))
    }),
  ]
}

function claimsOf(): string[] {
  const rows = rulesOf(sectionOf(PROTOCOL, '5.2 `getCustomJwtClaims`'))
  const paths = namesOf(rows).map((name) => name.split('.'))
  return [
    assertion('Is<keyof CustomClaimsRequest', [...new Set(paths.map(([outer = '']) => outer))]),
    assertion(
      "Is<keyof CustomClaimsRequest['context']",
      paths.flatMap(([, inner]) => inner ?? []),
    ),
    ...rows
      .filter((_, index) => paths[index]?.[0] !== 'environmentVariables')
      .map((row, index) => {
        const type = paths[index]?.map((part) => `['${part}']`).join('')
        return assertion(`Has<keyof NonNullable<CustomClaimsRequest${type}>`, wordsOf(row))
      }),
  ]
}

function requestsOf(): string[] {
  const told = (method: string) =>
    new RegExp(`^\\| \`${method}\\(\\{ (.*?) \\}`, 'm')
      .exec(readPage('docs/support-tool.md'))?.[1]
      ?.split(', ') ?? []
  return [
    assertion('Is<keyof IssueRequest', told('issue')),
    assertion('Is<keyof ExchangeRequest', told('exchange')),
    assertion('Is<keyof OnBehalfOfRequest', told('onBehalfOf')),
  ]
}

// A `findAccount` that fails is reported where it only extends a filter, which emits nothing.
const checksOf = (): string[] => [
  assertion("Is<Exclude<Check, 'findAccount'>", namesOf(rowsOf(sectionOf(EVENTS, 'Checks')))),
]

describe('docs: types', () => {
  let output: string
  before(async () => {
    const told = Object.entries({ eventsOf, checksOf, policyOf, claimsOf, requestsOf })
    const files = told.map(([name, assertions]) => {
      const lines = assertions().map((text, index) => `export const _${index}: ${text}\n`)
      return [`${name}.ts`, HEADER + lines.join('')]
    })
    output = await compile(Object.fromEntries(files))
  })

  for (const [title, file] of [
    ['have every event with every member, and say which are always there', 'eventsOf'],
    ['name every check, and no other', 'checksOf'],
    ['have everything that the policy receives', 'policyOf'],
    ['have everything that the claims function receives', 'claimsOf'],
    ['name the fields of requests of the client', 'requestsOf'],
  ] as const)
    it(title, () => {
      expect(output.split('\n').filter((line) => line.includes(file))).to.deep.equal([])
    })
})
