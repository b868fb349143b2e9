/** What operators are told about an error that comes from elsewhere: never its message (protocol.md §6). */
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import { ConnectionAcquireTimeoutError, DatabaseError } from 'sequelize'
import { checkOf, nameOf, proofRefused, reasonOf } from '../../src/base/errors.ts'
import { AccessDenied } from '../../src/index.ts'
import { storageUnavailable } from '../../src/provider/outage.ts'
import { createPostgres } from '../../src/sequelize/database/postgres/driver.ts'
import { storageError } from '../../src/sequelize/database/storage-error.ts'

const PRIVATE = 'private: eyJhbGciOiJub25lIn0'
const withCode = (code: unknown, name = 'Error'): Error => Object.assign(new Error(PRIVATE), { code, name })

describe('the name of an error', () => {
  const names: [title: string, error: unknown, name: string][] = [
    ['its code', withCode('ECONNREFUSED'), 'ECONNREFUSED'],
    ['a code of digits', withCode('23505'), '23505'],
    ['a code of 64 characters', withCode('E'.repeat(64)), 'E'.repeat(64)],
    ['a code in the form of a class', withCode('SqliteError'), 'SqliteError'],
    ['its class', new RangeError(PRIVATE), 'RangeError'],
    ['a class of one letter', withCode(undefined, 'E'), 'E'],
    ['a class of 64 letters', withCode(undefined, `E${'r'.repeat(63)}`), `E${'r'.repeat(63)}`],
    ['the class, where the code is a number', withCode(7, 'RangeError'), 'RangeError'],
    ['the class, where the code is not a string', withCode(['E42'], 'RangeError'), 'RangeError'],
    ['the class, where the code is too long', withCode('E'.repeat(65), 'RangeError'), 'RangeError'],
    ['the class, where the code is a sentence', withCode(PRIVATE, 'RangeError'), 'RangeError'],
    [
      'the class, where the code begins with a sentence',
      withCode(`${PRIVATE} E42`, 'RangeError'),
      'RangeError',
    ],
    [
      'the class, where the code ends with a sentence',
      withCode(`E42 ${PRIVATE}`, 'RangeError'),
      'RangeError',
    ],
    ['the class, where the code is empty', withCode('', 'RangeError'), 'RangeError'],
    ['Error, where the class is too long', withCode(undefined, `E${'r'.repeat(64)}`), 'Error'],
    ['Error, where the class has a digit', withCode(undefined, 'Es256'), 'Error'],
    ['Error, where the class begins with a small letter', withCode(undefined, 'secret'), 'Error'],
    ['Error, where neither can be shown', withCode(PRIVATE, PRIVATE), 'Error'],
    ['none for what is not an error', { code: 'E42', name: 'RangeError' }, 'not an error'],
    ['none for undefined', undefined, 'not an error'],
  ]
  for (const [title, error, name] of names) {
    it(`is ${title}`, () => expect(nameOf(error)).to.equal(name))
  }
})

describe('the reason of an outage', () => {
  it('is the code of the driver, or else the class', () => {
    const timeout = new ConnectionAcquireTimeoutError(new Error('Operation timeout'))
    const refused = new DatabaseError(Object.assign(new Error(PRIVATE), { code: '22021', sql: '' }))
    const driver = createPostgres(() => {})
    const reasons = [timeout, refused].map((error) =>
      reasonOf(storageUnavailable(storageError(error, driver))),
    )
    expect(reasons).to.deep.equal(['SequelizeConnectionAcquireTimeoutError', '22021'])
  })
})

describe('an error about the proof of a key', () => {
  it('keeps the words of the provider as its reason', () => {
    for (const [error, reason] of [
      [new errors.InvalidGrant('replayed'), 'replayed'],
      [new errors.InvalidDpopProof('no jti'), 'no jti'],
      [new errors.UseDpopNonce('a nonce is required'), 'a nonce is required'],
    ] as const) {
      expect(proofRefused(error)).to.equal(error)
      expect([reasonOf(error), checkOf(error)]).to.deep.equal([reason, undefined])
    }
  })

  it('has those for operators as its reason, if there are any', () => {
    const error = new errors.InvalidDpopProof('invalid', { detail: 'no jti' })
    expect(proofRefused(error)).to.equal(error)
    expect(reasonOf(error)).to.equal('no jti')
  })

  it('does not repeat what a library says about the proof', () => {
    const refused = proofRefused(new errors.InvalidDpopProof('invalid', { cause: new RangeError(PRIVATE) }))
    expect(refused).to.be.instanceOf(errors.InvalidDpopProof)
    expect(refused).to.include({ error_description: 'invalid', error_detail: 'RangeError' })
    expect(reasonOf(refused as Error)).to.equal('RangeError')
  })

  it('is not an error of another kind, which is passed on, and whose reason is its name', () => {
    const others = [
      Object.assign(new Error(PRIVATE), { error_detail: PRIVATE }),
      Object.assign(new Error(PRIVATE), { cause: new Error(PRIVATE) }),
      new errors.InvalidRequest(PRIVATE),
    ]
    for (const error of others) {
      expect(proofRefused(error)).to.equal(error)
      expect(reasonOf(error)).to.equal(error.name)
    }
    for (const thrown of [undefined, null, PRIVATE]) expect(proofRefused(thrown)).to.equal(thrown)
  })
})

describe('AccessDenied', () => {
  it('has its name and its reason, and a cause for those who log it', () => {
    const cause = new Error('of the deployment')
    const error = new AccessDenied('the ticket is closed', { cause })
    expect(error).to.be.instanceOf(Error)
    expect(error).to.include({ name: 'AccessDenied', message: 'the ticket is closed', cause })
    expect(new AccessDenied().message).to.equal('denied by the deployment')
  })
})
