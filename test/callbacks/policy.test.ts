/** What the policy refuses, and the reason that the operator reads (protocol.md §5.1). */
import { expect } from 'chai'
import { askDeployment, assertPolicyAllows, missingContext, type Policy } from '../../src/callbacks/policy.ts'
import type { ImpersonationPolicyRequest } from '../../src/options.ts'
import type { JsonObject } from '../../src/plain-json.ts'
import { checkOf, reasonOf } from '../../src/refusals.ts'

const POLICY: Policy = {
  isAllowed: () => true,
  requiredContext: ['ticket', 'reason'],
  customClaimsTimeout: 5,
}

const requestOf = (given: Partial<ImpersonationPolicyRequest>): ImpersonationPolicyRequest => ({
  ...({ stage: 'exchange', userId: 'alice' } as ImpersonationPolicyRequest),
  context: { ticket: 'T-1', reason: 'help' },
  ...given,
})

const told = (asking: Promise<void>): Promise<unknown> =>
  asking.then(
    () => 'allowed',
    (error: Error) => [error.name, checkOf(error), reasonOf(error)],
  )

const ask = (given: Partial<ImpersonationPolicyRequest>, policy: Partial<Policy> = {}): Promise<unknown> =>
  told(assertPolicyAllows({ ...POLICY, ...policy }, requestOf(given)))

const actor = (sub: string) => ({ sub }) as NonNullable<ImpersonationPolicyRequest['actor']>

describe('the policy', () => {
  it('allows another actor, or none', async () => {
    expect(await ask({})).to.equal('allowed')
    expect(await ask({ actor: actor('bob') })).to.equal('allowed')
  })

  it('refuses an account that acts for itself', async () => {
    expect(await ask({ actor: actor('alice') })).to.deep.equal([
      'AccessDenied',
      'actorIsNotSubject',
      'an account cannot act for itself',
    ])
  })

  it('names the first key of the context that is missing, in the order of the option', async () => {
    expect(await ask({ context: { reason: ' ' } })).to.deep.equal([
      'AccessDenied',
      'requiredContext',
      'context.ticket is missing or blank',
    ])
    const blank: JsonObject[] = [{}, { ticket: null }, { ticket: '' }, { ticket: ' \n' }]
    for (const context of blank)
      expect(missingContext(POLICY, { reason: 'help', ...context })).to.equal('ticket')
    for (const ticket of ['T-1', 0, false, [], {}])
      expect(missingContext(POLICY, { ticket, reason: 'help' })).to.equal(undefined)
    expect(missingContext({ requiredContext: ['constructor'] }, {})).to.equal('constructor')
  })

  it('fails if isAllowed decides nothing', async () => {
    for (const decision of [undefined, null, 1, 'true', {}])
      expect(await ask({}, { isAllowed: () => decision as unknown as boolean })).to.deep.equal([
        'Error',
        'isAllowed',
        'isAllowed must return true or false',
      ])
  })

  it('refuses what isAllowed refuses, and allows everything where there is none', async () => {
    expect(await ask({}, { isAllowed: () => false })).to.deep.equal([
      'AccessDenied',
      'isAllowed',
      'isAllowed returned false',
    ])
    expect(await ask({}, { isAllowed: undefined })).to.equal('allowed')
    expect(await told(askDeployment({ ...POLICY, isAllowed: async () => true }, requestOf({})))).to.equal(
      'allowed',
    )
  })
})
