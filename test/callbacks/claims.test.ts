/** Why claims were not accepted, as the operator reads it (protocol.md §4): with the name of the member, if one is `undefined`. */
import { expect } from 'chai'
import { askExtraTokenClaims } from '../../src/callbacks/claims.ts'
import { checkOf, reasonOf } from '../../src/refusals.ts'

const ask = (claims: unknown) => askExtraTokenClaims({ customClaimsTimeout: 5 }, () => claims)

const refused = (claims: unknown): Promise<unknown> =>
  ask(claims).then(
    (accepted) => accepted,
    (error: Error) => [checkOf(error), reasonOf(error)],
  )

const PLAIN_JSON = ['extraTokenClaims', 'extraTokenClaims must return plain JSON']
const undefinedAt = (path: string) => [
  'extraTokenClaims',
  `extraTokenClaims must not return undefined for the member ${path}`,
]

/** `value` behind these names, the first of them outermost. */
const nested = (names: readonly string[], value: unknown): unknown =>
  names.reduceRight((inner, name) => ({ [name]: inner }), value)

describe('claims of the deployment', () => {
  it('are an object', async () => {
    for (const claims of [null, [], 'claims', 7])
      expect(await refused(claims)).to.deep.equal([
        'extraTokenClaims',
        'extraTokenClaims must return a plain object',
      ])
  })

  it('may be absent', async () => {
    expect(await askExtraTokenClaims({ customClaimsTimeout: 5 }, undefined)).to.deep.equal({})
    expect(await ask(undefined)).to.deep.equal({})
  })

  it('are searched once each, although they contain each other twice', async () => {
    const cycle: Record<string, unknown> = {}
    Object.assign(cycle, { left: cycle, right: cycle })
    expect(await refused({ cycle })).to.deep.equal(PLAIN_JSON)
  })

  it('are named as far as 256 characters deep', async () => {
    const names = ['a', 'b', 'c'].map((letter) => letter.repeat(64))
    const path = [...names, 'd'.repeat(61)]
    expect(path.join('.')).to.have.lengthOf(256)
    expect(await refused(nested([...path, 'e'], undefined))).to.deep.equal(undefinedAt(`${path.join('.')}.e`))
    const longer = [...names, 'd'.repeat(62)]
    expect(await refused(nested([...longer, 'e'], undefined))).to.deep.equal(PLAIN_JSON)
  })

  it('have names that are shown whole up to 64 characters', async () => {
    const name = 'x'.repeat(64)
    expect(await refused({ [name]: undefined })).to.deep.equal(undefinedAt(name))
    expect(await refused({ [`${name}x`]: undefined })).to.deep.equal(undefinedAt(`${name}…`))
  })

  it('are not looked into where they are neither an object nor an array', async () => {
    class User {
      readonly team = undefined
    }
    expect(await refused({ nothing: null, user: new User() })).to.deep.equal(PLAIN_JSON)
  })
})
