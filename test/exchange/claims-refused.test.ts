/** What the claims function must not do (protocol.md §3.2, §4, §5): a denial is 400, a failure is 500, and nothing is spent. */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { type DeploymentOverrides, OPAQUE_API, withDeployment } from '../../fixtures/deployment.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { AccessDenied } from '../../src/index.ts'
import { expectRefused, onlyEvent } from './refusals.ts'

/** Named in protocol.md §4, in its order. */
const RESERVED =
  'iss sub aud exp nbf iat jti client_id scope act may_act cnf authorization_details auth_time acr amr sid active token_type'

class WithToJson {
  readonly member = 'own'
  toJSON() {
    return { member: 'json' }
  }
}
const cycle: Record<string, unknown> = {}
cycle.self = cycle
const inherited = Object.create({ team: 'inherited' })

function throwing(error: unknown): never {
  throw error
}

/** Results of the function that are not plain JSON, or no result at all. */
const WRONG: [title: string, result: () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['a string', () => 'claims'],
  ['a number', () => 7],
  ['true', () => true],
  ['an array', () => [{ team: 'support' }]],
  ['a Map', () => new Map([['team', 'support']])],
  ['a Set', () => new Set()],
  ['a Date', () => new Date()],
  ['an Error', () => new Error('x')],
  ['a function', () => () => ({})],
  ['a class with toJSON', () => new WithToJson()],
  ['an object that inherits', () => inherited],
  ['an undefined member', () => ({ team: undefined })],
  ['a function as a member', () => ({ team: () => 'support' })],
  ['a symbol as a member', () => ({ team: Symbol('x') })],
  ['a member named by a symbol', () => ({ [Symbol('team')]: 'support' })],
  ['a BigInt', () => ({ level: 1n })],
  ['NaN', () => ({ level: Number.NaN })],
  ['Infinity', () => ({ level: Number.POSITIVE_INFINITY })],
  ['a Date as a member', () => ({ at: new Date() })],
  ['a Map as a member', () => ({ roles: new Map() })],
  ['a class with toJSON as a member', () => ({ user: new WithToJson() })],
  ['a class further in', () => ({ list: [{ user: new WithToJson() }] })],
  ['a Boolean object', () => ({ on: Object(true) })],
  ['bytes', () => ({ key: new Uint8Array(2) })],
  ['an array with a hole', () => ({ list: new Array(2) })],
  ['a lone surrogate', () => ({ name: '\ud800' })],
  ['a lone surrogate in a name', () => ({ '\ud800': 1 })],
  ['a cycle', () => cycle],
  ['a member that is a promise', () => ({ team: Promise.resolve('support') })],
  [
    'a getter that throws',
    () => ({
      get team() {
        return throwing(new Error('private'))
      },
    }),
  ],
]

describe('token exchange: what the claims function must not do', () => {
  /** Refuses while the function does this, and works once it does not. */
  const refusesWhile = async (
    behave: () => unknown,
    { status = 500, error = 'server_error', check = 'getCustomJwtClaims', name = 'getCustomJwtClaims' } = {},
  ) => {
    const state = { behave }
    const options: DeploymentOverrides =
      name === 'getCustomJwtClaims'
        ? { options: { customClaimsTimeout: 1, getCustomJwtClaims: () => state.behave() as object } }
        : {
            options: { customClaimsTimeout: 1 },
            configuration: {
              extraTokenClaims: (_ctx, token) =>
                (Reflect.get(token, 'accountId') ? state.behave() : undefined) as Record<string, unknown>,
            },
          }
    await withDeployment(options, async (deployment) => {
      const response = await expectRefused(deployment, {
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken }),
        valid: (subjectToken) => {
          state.behave = () => ({})
          return exchange(deployment, { subject_token: subjectToken })
        },
        status,
        error,
        check,
      })
      expect(response.text).not.to.include('private')
    })
  }

  for (const [title, result] of WRONG) {
    it(`return ${title}`, () => refusesWhile(result))
  }

  describe('return undefined for a member, which is named:', () => {
    const named: [path: string, result: () => object][] = [
      ['team', () => ({ team: undefined })],
      ['impersonation.ticket_id', () => ({ impersonation: { reason: 'help', ticket_id: undefined } })],
      ['roles[1].name', () => ({ roles: [{ name: 'a' }, { name: undefined }] })],
      ['list[0]', () => ({ list: new Array(2) })],
      ['["https://example.com/team"]', () => ({ 'https://example.com/team': undefined })],
      ['a["x\\ny"]', () => ({ a: { 'x\ny': undefined } })],
      [`${'x'.repeat(64)}…`, () => ({ ['x'.repeat(10_000)]: undefined })],
      ['team', () => ({ cycle, more: [cycle, cycle], team: undefined })],
    ]
    for (const [path, result] of named) {
      for (const name of ['getCustomJwtClaims', 'extraTokenClaims'] as const) {
        it(`${path.slice(0, 30)}, by ${name}`, () =>
          withDeployment(
            name === 'getCustomJwtClaims'
              ? { options: { getCustomJwtClaims: result } }
              : {
                  configuration: {
                    extraTokenClaims: (_ctx, token) =>
                      Reflect.get(token, 'accountId') ? (result() as Record<string, unknown>) : undefined,
                  },
                },
            async (deployment) => {
              const { subjectToken } = await issue(deployment)
              const response = await exchange(deployment, { subject_token: subjectToken })
              expect([response.status, response.body.error]).to.deep.equal([500, 'server_error'])
              const { reason } = onlyEvent(deployment, 'subject_token.refused')
              expect(reason).to.equal(`${name} must not return undefined for the member ${path}`)
              expect(String(deployment.errors[0])).to.include(reason)
            },
          ))
      }
    }

    it('but not a getter, which is not read', () =>
      withDeployment(
        {
          options: {
            getCustomJwtClaims: () => ({
              get team() {
                return undefined
              },
            }),
          },
        },
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          await exchange(deployment, { subject_token: subjectToken })
          const { reason } = onlyEvent(deployment, 'subject_token.refused')
          expect(reason).to.equal('getCustomJwtClaims must return plain JSON')
        },
      ))
  })

  // oidc-provider's own check of extraTokenClaims reads `constructor`, and runs after the spend.
  it('return a claim named constructor, which the provider cannot handle', () =>
    refusesWhile(() => ({ constructor: 'x' })))
  it('resolve to an array', () => refusesWhile(async () => []))

  describe('return a reserved claim:', () => {
    for (const claim of RESERVED.split(' ')) {
      it(claim, () => refusesWhile(() => ({ [claim]: 'x', team: 'support' })))
      it(`${claim}, even when undefined`, () => refusesWhile(() => ({ [claim]: undefined })))
    }
    it('__proto__', () => refusesWhile(() => JSON.parse('{"__proto__":{"admin":true}}')))
    it('one that is hidden behind a getter', () =>
      refusesWhile(() => Object.defineProperty({}, 'sub', { get: () => 'mallory', enumerable: true })))
    it('one that is not enumerable', () =>
      refusesWhile(() => Object.defineProperty({}, 'sub', { value: 'mallory' })))

    it('is named in the log, and not in the response', () =>
      withDeployment({ options: { getCustomJwtClaims: () => ({ may_act: {} }) } }, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken })
        expect(response.text).not.to.include('may_act')
        expect(String(deployment.errors[0])).to.include('may_act')
        expect(onlyEvent(deployment, 'subject_token.refused').reason).to.include('may_act')
      }))
  })

  describe('fail:', () => {
    it('throw', () => refusesWhile(() => throwing(new Error('private'))))
    it('throw something that is not an error', () => refusesWhile(() => throwing('private')))
    it('throw undefined', () => refusesWhile(() => throwing(undefined)))
    it('reject', () => refusesWhile(() => Promise.reject(new Error('private'))))
    it('take longer than the limit', () => refusesWhile(() => tooLate(1)))
    it('return a thenable that throws', () =>
      // biome-ignore lint/suspicious/noThenProperty: that is the test
      refusesWhile(() => ({ then: () => throwing(new Error('private')) })))

    it('with a message that only the operator reads', () =>
      withDeployment(
        { options: { getCustomJwtClaims: () => throwing(new Error('private reason')) } },
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const response = await exchange(deployment, { subject_token: subjectToken })
          expect([response.status, response.body]).to.deep.equal([
            500,
            { error: 'server_error', error_description: 'oops! something went wrong' },
          ])
          expect(deployment.errors).to.have.lengthOf(1)
          expect(deployment.errors[0]).to.have.nested.property('cause.message', 'private reason')
        },
      ))

    it('leaves no unhandled rejection when a function that took too long finally rejects', async () => {
      const unhandled: unknown[] = []
      const listen = (error: unknown) => void unhandled.push(error)
      process.on('unhandledRejection', listen)
      try {
        const { promise, reject } = Promise.withResolvers<never>()
        await refusesWhile(() => tooLate(1, promise))
        reject(new Error('late'))
        await new Promise(setImmediate)
        expect(unhandled).to.deep.equal([])
      } finally {
        process.off('unhandledRejection', listen)
      }
    })
  })

  describe('deny:', () => {
    const denied = { status: 400, error: 'access_denied' }
    it('by throwing AccessDenied', () => refusesWhile(() => throwing(new AccessDenied('private')), denied))
    it('by rejecting with AccessDenied', () =>
      refusesWhile(async () => throwing(new AccessDenied('private')), denied))

    it('with a reason that goes to the event only', () =>
      withDeployment(
        { options: { getCustomJwtClaims: () => throwing(new AccessDenied('the ticket is closed')) } },
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const response = await exchange(deployment, { subject_token: subjectToken })
          const description = 'the request was denied by policy'
          expect(response.body).to.deep.equal({ error: 'access_denied', error_description: description })
          const { check, reason } = onlyEvent(deployment, 'subject_token.refused')
          expect([check, reason]).to.deep.equal(['getCustomJwtClaims', 'the ticket is closed'])
          expect(deployment.errors).to.deep.equal([])
        },
      ))
  })

  it('leaves no Grant behind when it refuses an opaque token', () =>
    withDeployment(
      { options: { getCustomJwtClaims: () => throwing(new Error('no')) } },
      async (deployment) => {
        const saved: unknown[] = []
        deployment.provider.on('grant.saved', (grant) => saved.push(grant))
        const { subjectToken } = await issue(deployment)
        await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
        expect(saved).to.deep.equal([])
      },
    ))

  describe("also applies to the deployment's own extraTokenClaims:", () => {
    const own = { name: 'extraTokenClaims', check: 'extraTokenClaims' }
    it('a throw', () => refusesWhile(() => throwing(new Error('private')), own))
    it('a rejection', () => refusesWhile(() => Promise.reject(new Error('private')), own))
    it('AccessDenied, which is for the claims function', () =>
      refusesWhile(() => throwing(new AccessDenied('private')), own))
    it('a time limit', () => refusesWhile(() => tooLate(1), own))
    it('an array', () => refusesWhile(() => [], own))
    it('null', () => refusesWhile(() => null, own))
    it('an undefined member', () => refusesWhile(() => ({ team: undefined }), own))
    for (const claim of RESERVED.split(' ')) {
      it(`the reserved claim ${claim}`, () => refusesWhile(() => ({ [claim]: 'x' }), own))
    }
  })
})
