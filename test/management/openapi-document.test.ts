/** What readers and linters ask of openapi.json, as far as JSON Schema does not. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { PEOPLE } from '../../example/accounts.ts'
import type { Json } from '../../fixtures/openapi.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const TEXT = readFileSync(path.join(ROOT, 'openapi.json'), 'utf8')
const document = JSON.parse(TEXT)
const { components, info, paths } = document

/** The files of the published package. */
const PACKAGE = 'https://unpkg.com/oidc-provider-impersonation/'

interface Operation {
  readonly route: string
  readonly method: string
  readonly operation: Json
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const operations: Operation[] = Object.entries<Json>(paths).flatMap(([route, item]) =>
  Object.entries<Json>(item)
    .filter(([method]) => METHODS.includes(method))
    .map(([method, operation]) => ({ route, method, operation })),
)

/** Everything in it with this name, wherever it is. */
function* named(name: string, value: Json = document): Generator<Json> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries<Json>(value)) {
    if (key === name) yield member
    yield* named(name, member)
  }
}

describe('openapi.json, as a document', () => {
  it('says who to ask', () => {
    expect(info.contact.name).to.be.a('string').that.is.not.equal('')
  })

  it('refers to pages of this package', () => {
    const pages = [...named('externalDocs')].map(({ url }) => url.replace(PACKAGE, ''))
    expect(pages.length).to.be.greaterThan(1)
    expect(pages.filter((url) => !existsSync(path.join(ROOT, url)))).to.deep.equal([])
  })

  it('uses every component', () => {
    const names = Object.entries<object>(components).flatMap(([kind, members]) =>
      kind === 'securitySchemes' ? [] : Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    )
    expect(names.filter((name) => !TEXT.includes(`"$ref": "${name}"`))).to.deep.equal([])
  })

  it('declares the scopes that its operations require', () => {
    const required = operations.flatMap(({ operation }) =>
      operation.security.flatMap((given: Record<string, string[]>) => given.managementToken),
    )
    const declared = Object.keys(components.securitySchemes.managementToken.flows.clientCredentials.scopes)
    expect([...new Set(required)].sort()).to.deep.equal(declared.sort())
  })

  it('has prose that a reader can follow without the source', () => {
    const prose = [...named('description'), ...named('summary')].filter((text) => typeof text === 'string')
    expect(prose.length).to.be.greaterThan(100)
    expect(prose.filter((text) => /#\/|\$ref/.test(text))).to.deep.equal([])
  })

  it('describes each operation once: HEAD as GET', () => {
    expect(operations.filter(({ method }) => method === 'head')).to.deep.equal([])
    expect(info.description).to.include('HEAD works wherever GET does')
  })

  it('has an example of each state, on its own and on a page, and of the last page', () => {
    const examplesOf = (route: string) =>
      Object.values<Json>(paths[route].get.responses['200'].content['application/json'].examples).map(
        ({ value }) => value,
      )
    const one = examplesOf('/subject-tokens/{id}')
    const pages = examplesOf('/subject-tokens')
    const { enum: states } = components.schemas.State
    expect([...new Set(one.map(({ state }) => state))]).to.have.members(states)
    expect([...new Set(pages.flatMap(({ items }) => items.map(({ state }: Json) => state)))]).to.have.members(
      states,
    )
    const kinds = pages.map(({ items, nextCursor }) => [items.length > 0, nextCursor !== undefined])
    for (const kind of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ])
      expect(kinds).to.deep.include(kind)
  })

  it('has the people of the example, each in their part', () => {
    const part = (role: string) => PEOPLE.filter((person) => person.role === role).map(({ id }) => id)
    const inExamples = (name: string) =>
      [...named('examples'), ...named('example')].flatMap((example) => [...named(name, { example })])
    const users = inExamples('userId')
    const engineers = [...inExamples('actorId'), ...inExamples('by'), ...inExamples('sub')]
    expect(users.length).to.be.greaterThan(5)
    expect(engineers.length).to.be.greaterThan(5)
    expect(part('customer')).to.include.members(users)
    expect(part('support')).to.include.members(engineers)
  })

  for (const { route, method, operation } of operations) {
    it(`has a line for curl: ${method.toUpperCase()} ${route}`, () => {
      const [{ lang, source }] = operation['x-codeSamples']
      expect(lang).to.equal('Shell')
      const [, address = ''] = /curl (?:-X DELETE )?"?(https:[^" \\]+)/.exec(source) ?? []
      const { pathname } = new URL(address)
      const pattern = route.replaceAll(/\{\w+\}/g, '[0-9a-f]+')
      expect(pathname).to.match(new RegExp(`^/(api|oidc)${pattern}$`))
      expect(source.includes('-X DELETE')).to.equal(method === 'delete')
      expect(/ -d /.test(source)).to.equal(method === 'post')
      expect(source.includes('Authorization: Bearer')).to.equal(operation.security.length > 0)
    })
  }
})
