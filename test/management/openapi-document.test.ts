/** What Redocly's and Spectral's recommended rules ask of openapi.json, as far as JSON Schema does not. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const TEXT = readFileSync(path.resolve(import.meta.dirname, '../../openapi.json'), 'utf8')
const { components, info, paths } = JSON.parse(TEXT)

describe('openapi.json, as a document', () => {
  it('says who to ask', () => {
    expect(info.contact.name).to.be.a('string').that.is.not.equal('')
  })

  it('uses every component', () => {
    const names = Object.entries<object>(components).flatMap(([kind, members]) =>
      kind === 'securitySchemes' ? [] : Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    )
    expect(names.filter((name) => !TEXT.includes(`"$ref": "${name}"`))).to.deep.equal([])
  })

  it('declares the scopes that its operations require', () => {
    const operations = Object.values<object>(paths).flatMap((methods) => Object.values(methods))
    const required = operations.flatMap(({ security = [] }) =>
      security.flatMap((given: Record<string, string[]>) => given.managementToken),
    )
    const declared = Object.keys(components.securitySchemes.managementToken.flows.clientCredentials.scopes)
    expect([...new Set(required)].sort()).to.deep.equal(declared.sort())
  })
})
