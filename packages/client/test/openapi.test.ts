/** The types of the client, compared with `openapi.json`. */
import { expect } from 'chai'
import { readPage } from '../../../fixtures/markdown.ts'
import { type Json, readDescription } from '../../../fixtures/openapi.ts'

const sourceOf = (file: string): string => readPage(`packages/client/src/${file}`)
const { paths, components } = readDescription()
const { schemas, parameters } = components

const resolve = (schema: Json): Json => (schema.$ref ? schemas[schema.$ref.split('/').at(-1)] : schema)

/** The members of an interface, those of nested object types as `outer.inner`, and whether each is optional. */
function membersOf(source: string, name: string): Map<string, boolean> {
  const [, body] = new RegExp(`export interface ${name} \\{\n(.*?)\n\\}`, 's').exec(source) ?? []
  if (body === undefined) throw new Error(`no interface is called ${name}`)
  const members = new Map<string, boolean>()
  const trail: string[] = []
  let last = ''
  for (const [token, member, optional] of body.matchAll(/\breadonly (\w+)(\??):|[{}]/g)) {
    if (token === '{') trail.push(last)
    else if (token === '}') trail.pop()
    else {
      last = member ?? ''
      members.set([...trail, last].join('.'), optional === '?')
    }
  }
  return members
}

/** The members of a schema, those of nested objects as `outer.inner`, and whether each is optional. */
function describedMembers({ properties = {}, required = [] }: Json): [string, boolean][] {
  return Object.entries<Json>(properties).flatMap(([name, schema]) => [
    [name, !required.includes(name)],
    // Actors nest without end, and are compared by themselves.
    ...(isActor(name) ? [] : describedMembers(resolve(schema))).map(
      ([inner, optional]): [string, boolean] => [`${name}.${inner}`, optional],
    ),
  ])
}
const isActor = (name: string): boolean => name === 'actor' || name === 'act'

const compared: [file: string, type: string, schema: string][] = [
  ['record.ts', 'SubjectTokenRecord', 'SubjectToken'],
  ['record.ts', 'SubjectTokenRecordPage', 'SubjectTokenPage'],
  ['requests.ts', 'IssueRequest', 'SubjectTokenRequest'],
  ['requests.ts', 'AcknowledgeRequest', 'AcknowledgementRequest'],
  ['requests.ts', 'Stopped', 'Stopped'],
]

describe('client: types', () => {
  for (const [file, type, schema] of compared) {
    it(`${type} has the members of ${schema}, required where they are`, () => {
      const members = [...membersOf(sourceOf(file), type)].filter(([name]) => name !== 'actor.clientId')
      expect(members).to.have.deep.members(describedMembers(schemas[schema]))
    })
  }

  it('ListRequest has the parameters of lists', () => {
    const members = membersOf(sourceOf('requests.ts'), 'ListRequest')
    const described = paths['/subject-tokens'].get.parameters.map(
      ({ $ref }: Json) => parameters[$ref.split('/').at(-1)].name,
    )
    expect([...members.keys()]).to.have.members(described)
  })

  it('StopRequest has the members of RevocationRequest', () => {
    const [, type = ''] = /export type StopRequest = (.*?)\n\)\n/s.exec(sourceOf('requests.ts')) ?? []
    const members = new Set([...type.matchAll(/readonly (\w+)/g)].map(([, name]) => name))
    expect([...members]).to.have.members(Object.keys(schemas.RevocationRequest.properties))
  })

  it('RecordState has the states', () => {
    const [, states = ''] = /export type RecordState = (.*)/.exec(sourceOf('record.ts')) ?? []
    expect(states.split(' | ').map((state) => state.slice(1, -1))).to.have.members(schemas.State.enum)
  })

  it('RecordedAcknowledgement has the members of one, and RevocationCause the causes', () => {
    const { acknowledged } = schemas.SubjectToken.properties
    expect([...membersOf(sourceOf('record.ts'), 'RecordedAcknowledgement')]).to.have.deep.members(
      describedMembers(acknowledged.items),
    )
    const [, causes = ''] = /export type RevocationCause =\n(.*?)\n\n/s.exec(sourceOf('record.ts')) ?? []
    const named = [...causes.matchAll(/'(\w+)'/g)].map(([, cause]) => cause)
    expect(named).to.have.members(schemas.Revocation.properties.cause.enum)
  })

  it('RecordedActor is an actor and those before', () => {
    expect([...membersOf(sourceOf('record.ts'), 'RecordedActor')]).to.deep.equal(
      describedMembers(schemas.Act),
    )
  })
})
