/** The types of `./client`, compared with `openapi.json`. */
import { expect } from 'chai'
import { type Json, readDescription } from '../../fixtures/openapi.ts'
import { membersOf, readSource } from '../../fixtures/source.ts'

const { schemas, parameters } = readDescription().components

/** The members of a schema, those of nested objects as `outer.inner`, and whether each is optional. */
function describedMembers({ properties = {}, required = [] }: Json): [string, boolean][] {
  return Object.entries<Json>(properties).flatMap(([name, schema]) => [
    [name, !required.includes(name)],
    ...describedMembers(schema).map(([inner, optional]): [string, boolean] => [`${name}.${inner}`, optional]),
  ])
}

const compared: [file: string, type: string, schema: string][] = [
  ['record.ts', 'SubjectTokenRecord', 'SubjectToken'],
  ['record.ts', 'SubjectTokenRecordPage', 'SubjectTokenPage'],
  ['requests.ts', 'IssueRequest', 'SubjectTokenRequest'],
]

describe('client: types', () => {
  for (const [file, type, schema] of compared) {
    it(`${type} has every member of ${schema}, required where it is`, () => {
      const members = membersOf(readSource(`client/${file}`), type)
      const described = describedMembers(schemas[schema])
      expect(described).not.to.have.length(0)
      for (const [name, optional] of described) expect(members.get(name), name).to.equal(optional)
    })
  }

  it('ListRequest has every parameter of lists', () => {
    const members = membersOf(readSource('client/requests.ts'), 'ListRequest')
    const described = Object.values<Json>(parameters).filter((parameter) => parameter.in === 'query')
    expect([...members.keys()]).to.include.members(described.map(({ name }) => name))
  })

  it('RecordState has the states', () => {
    const [, states = ''] = /export type RecordState = (.*)/.exec(readSource('client/record.ts')) ?? []
    expect(states.split(' | ').map((state) => state.slice(1, -1))).to.have.members(schemas.State.enum)
  })

  it('RecordedActor is an actor and those before', () => {
    expect([...membersOf(readSource('client/record.ts'), 'RecordedActor')]).to.deep.equal(
      describedMembers(schemas.Act),
    )
  })
})
