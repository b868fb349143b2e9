import { expect } from 'chai'
import { createImpersonation, type ImpersonationOptions } from '../src/index.ts'
import { resolveOptions } from '../src/options.ts'
import type { SubjectTokenStore } from '../src/subject-tokens/store.ts'

const never = (): never => {
  throw new Error('not called')
}
const store: SubjectTokenStore = {
  insert: never,
  findByHash: never,
  consume: never,
  get: never,
  list: never,
  revoke: never,
  revokeWhere: never,
}

describe('options', () => {
  it('have the defaults that the README lists', () => {
    expect(resolveOptions({ store })).to.deep.include({
      subjectTokenTTL: 600,
      maxSubjectTokenTTL: 3600,
      maxAccessTokenTTL: 3600,
      requireActor: false,
      maxDelegationDepth: 1,
      requiredContext: [],
      environmentVariables: {},
      customClaimsTimeout: 5,
      managementResource: undefined,
    })
  })

  it('shorten the default life to the longest allowed', () => {
    expect(resolveOptions({ store, maxSubjectTokenTTL: 60 }).subjectTokenTTL).to.equal(60)
  })

  it('are frozen once resolved', () => {
    const environmentVariables = { nested: { value: 1 } }
    const options = resolveOptions({ store, environmentVariables, requiredContext: ['reason'] })
    environmentVariables.nested.value = 2
    expect(options.environmentVariables).to.deep.equal({ nested: { value: 1 } })
    for (const value of [options, options.requiredContext, options.environmentVariables.nested]) {
      expect(value).to.be.frozen
    }
  })

  const wrong: Record<string, unknown[]> = {
    store: [undefined, null, {}, { insert: never }],
    subjectTokenTTL: [0, -1, 1.5, '600', 3601, Number.NaN],
    maxSubjectTokenTTL: [0, 86_401, '1'],
    maxAccessTokenTTL: [0, 86_401, 0.5],
    requireActor: ['true', 1, null],
    maxDelegationDepth: [0, 11, 1.5],
    requiredContext: ['reason', [''], [1]],
    isAllowed: [true, {}],
    getCustomJwtClaims: ['() => ({})', {}],
    environmentVariables: [[], 'A=1', { now: new Date() }, { run() {} }],
    customClaimsTimeout: [0, 61, 0.1],
    managementResource: ['/api', 'https://id.example.com/api#x', 'https://id.example.com/api?x', 1, ''],
    subjectTokenTtl: [600],
  }
  for (const [option, values] of Object.entries(wrong)) {
    it(`are refused, naming the option: ${option}`, () => {
      for (const value of values) {
        // null stands for "not given" nowhere: it is a value of a wrong type, or the default.
        if (value === null && option !== 'store') continue
        const given = { store, [option]: value } as unknown as ImpersonationOptions
        expect(() => createImpersonation(given), String(value)).to.throw(TypeError, option)
      }
    })
  }
})
