import { expect } from 'chai'
import { uncalledStore as store } from '../../fixtures/uncalled-store.ts'
import { createImpersonation, type ImpersonationOptions } from '../../src/index.ts'
import { resolveOptions } from '../../src/options.ts'

describe('options', () => {
  it('have the defaults that the README lists', () => {
    expect(resolveOptions({ store })).to.deep.include({
      subjectTokenTTL: 600,
      maxSubjectTokenTTL: 3600,
      maxAccessTokenTTL: 900,
      requireActor: false,
      maxDelegationDepth: 1,
      replayLeeway: 0,
      onBehalfOf: false,
      requiredContext: [],
      environmentVariables: {},
      customClaimsTimeout: 5,
      statusList: { ttl: 30 },
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
    expect(options.requiredContext).to.deep.equal(['reason'])
    for (const value of [options, options.requiredContext, options.environmentVariables.nested]) {
      expect(value).to.be.frozen
    }
  })

  it('complete onBehalfOf', () => {
    const resolved = (onBehalfOf: ImpersonationOptions['onBehalfOf']) =>
      resolveOptions({ store, onBehalfOf }).onBehalfOf
    expect(resolved(true)).to.deep.equal({ hops: 1 })
    expect(resolved({})).to.deep.equal({ hops: 1 })
    expect(resolved({ hops: 10 })).to.deep.equal({ hops: 10 })
    expect(resolved(true)).to.be.frozen
    expect(resolved(false)).to.equal(false)
  })

  it('take addresses as they are given', () => {
    const managementResource = 'urn:example:management'
    const statusList = { ttl: 5, uri: 'HTTPS://lists.example.com/of/id' }
    expect(resolveOptions({ store, managementResource, statusList })).to.deep.include({
      managementResource,
      statusList,
    })
  })

  it('are the defaults where they are null', () => {
    const given = { store, requireActor: null, maxDelegationDepth: null } as unknown as ImpersonationOptions
    expect(resolveOptions(given)).to.include({ requireActor: false, maxDelegationDepth: 1 })
  })

  const METHODS =
    'insert, find, consume, list, summarize, countLive, revoke, revokeWhere, report, recordReplay, acknowledge, findByStatusIndex, findStopped, findStatusLists'
  const whole = (option: string, from: number, until: number) =>
    `option ${option} must be a whole number from ${from} to ${until}`
  const UNKNOWN = 'unknown option: '
  /** What is said, and what it is said of. */
  const refused: readonly (readonly [text: string, option: string, values: readonly unknown[]])[] = [
    [
      `option store must be a SubjectTokenStore (with ${METHODS})`,
      'store',
      [undefined, null, {}, { insert: store.insert }],
    ],
    [whole('subjectTokenTTL', 1, 3600), 'subjectTokenTTL', [0, -1, 1.5, '600', 3601, Number.NaN]],
    [whole('maxSubjectTokenTTL', 1, 86_400), 'maxSubjectTokenTTL', [0, 86_401, '1']],
    [whole('maxAccessTokenTTL', 1, 86_400), 'maxAccessTokenTTL', [0, 86_401, 0.5]],
    [whole('maxDelegationDepth', 1, 10), 'maxDelegationDepth', [0, 11, 1.5]],
    [whole('replayLeeway', 0, 60), 'replayLeeway', [-1, 61, 0.5, '1']],
    [whole('customClaimsTimeout', 1, 60), 'customClaimsTimeout', [0, 61, 0.1]],
    ['option requireActor must be a boolean', 'requireActor', ['true', 1]],
    [
      'option requiredContext must be an array of non-empty strings',
      'requiredContext',
      ['reason', [''], [1]],
    ],
    ['option isAllowed must be a function', 'isAllowed', [true, {}]],
    ['option getCustomJwtClaims must be a function', 'getCustomJwtClaims', ['() => ({})', {}]],
    [
      'option environmentVariables must be an object of JSON values',
      'environmentVariables',
      [[], 'A=1', { now: new Date() }, { run() {} }],
    ],
    [
      'option managementResource must be an absolute URI without query and fragment',
      'managementResource',
      ['/api', 'https://id.example.com/api#x', 'https://id.example.com/api?x', 1, ''],
    ],
    ['option statusList must be an object or false', 'statusList', [true, [], 'https://lists.example.com']],
    [whole('statusList.ttl', 5, 300), 'statusList', [4, 301, 5.5, '30', Number.NaN].map((ttl) => ({ ttl }))],
    [
      'option statusList.uri must be an http or https URL without query and fragment',
      'statusList',
      [...['/lists', 'urn:lists', 'urn:https://x', 'ftp://x/y', 'https://x/y?z', 'https://x/y#z', 7]].map(
        (uri) => ({ uri }),
      ),
    ],
    [`${UNKNOWN}statusList.TTL`, 'statusList', [{ TTL: 30 }]],
    ['option onBehalfOf must be a boolean or an object', 'onBehalfOf', ['true', 1, []]],
    [whole('onBehalfOf.hops', 1, 10), 'onBehalfOf', [0, 11, 1.5, '1', Number.NaN].map((hops) => ({ hops }))],
    [`${UNKNOWN}onBehalfOf.depth`, 'onBehalfOf', [{ depth: 1 }]],
    [`${UNKNOWN}onBehalfOf.scopes`, 'onBehalfOf', ['subset', 'policy'].map((scopes) => ({ scopes }))],
    [`${UNKNOWN}subjectTokenTtl`, 'subjectTokenTtl', [600]],
  ]
  const messageOf = (given: unknown): unknown => {
    try {
      return createImpersonation(given as ImpersonationOptions)
    } catch (error) {
      return error instanceof TypeError ? error.message : error
    }
  }
  for (const [text, option, values] of refused)
    it(`are refused with the words: ${text.slice(0, 80)}`, () => {
      for (const value of values) expect(messageOf({ store, [option]: value }), String(value)).to.equal(text)
    })

  it('are refused where they are none, and where an address of lists ends with a slash', () => {
    for (const given of [undefined, [store]])
      expect(messageOf(given)).to.equal('createImpersonation takes an options object')
    expect(messageOf({ store, statusList: { uri: 'https://x/' } })).to.include('option statusList.uri')
  })
})
