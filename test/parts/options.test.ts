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

  const wrong: Record<string, unknown[]> = {
    store: [undefined, null, {}, { insert: store.insert }],
    subjectTokenTTL: [0, -1, 1.5, '600', 3601, Number.NaN],
    maxSubjectTokenTTL: [0, 86_401, '1'],
    maxAccessTokenTTL: [0, 86_401, 0.5],
    requireActor: ['true', 1],
    maxDelegationDepth: [0, 11, 1.5],
    replayLeeway: [-1, 61, 0.5, '1'],
    requiredContext: ['reason', [''], [1]],
    isAllowed: [true, {}],
    getCustomJwtClaims: ['() => ({})', {}],
    environmentVariables: [[], 'A=1', { now: new Date() }, { run() {} }],
    customClaimsTimeout: [0, 61, 0.1],
    managementResource: ['/api', 'https://id.example.com/api#x', 'https://id.example.com/api?x', 1, ''],
    statusList: [
      true,
      [],
      'https://lists.example.com',
      { TTL: 30 },
      ...[4, 301, 5.5, '30', Number.NaN].map((ttl) => ({ ttl })),
      ...[
        '/lists',
        'urn:lists',
        'urn:https://x',
        'ftp://x/y',
        'https://x/y?z',
        'https://x/y#z',
        'https://x/',
        7,
      ].map((uri) => ({ uri })),
    ],
    onBehalfOf: [
      'true',
      1,
      [],
      { depth: 1 },
      ...[0, 11, 1.5, '1', Number.NaN].map((hops) => ({ hops })),
      ...['subset', 'policy'].map((scopes) => ({ scopes })),
    ],
    subjectTokenTtl: [600],
  }
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

  it('are refused where onBehalfOf has no status lists, naming both, with isAllowed or without', () => {
    const without = { store, statusList: false as const }
    for (const isAllowed of [undefined, () => true]) {
      expect(() => resolveOptions({ ...without, onBehalfOf: true, isAllowed })).to.throw(
        TypeError,
        /onBehalfOf.*statusList/,
      )
    }
    expect(resolveOptions({ ...without, onBehalfOf: false }).statusList).to.equal(false)
  })

  it('are the defaults where they are null', () => {
    const given = { store, requireActor: null, maxDelegationDepth: null } as unknown as ImpersonationOptions
    expect(resolveOptions(given)).to.include({ requireActor: false, maxDelegationDepth: 1 })
  })

  for (const [option, values] of Object.entries(wrong)) {
    it(`are refused, naming the option: ${option}`, () => {
      for (const value of values) {
        const given = { store, [option]: value } as unknown as ImpersonationOptions
        expect(() => createImpersonation(given), String(value)).to.throw(TypeError, option)
      }
    })
  }

  const METHODS =
    'insert, find, consume, list, summarize, countLive, revoke, revokeWhere, report, recordReplay, acknowledge, findByStatusIndex, findStopped, findStatusLists'
  const texts: [given: unknown, text: string][] = [
    [undefined, 'createImpersonation takes an options object'],
    [[store], 'createImpersonation takes an options object'],
    [{}, `option store must be a SubjectTokenStore (with ${METHODS})`],
    [{ subjectTokenTTL: 0 }, 'option subjectTokenTTL must be a whole number from 1 to 3600'],
    [{ replayLeeway: 61 }, 'option replayLeeway must be a whole number from 0 to 60'],
    [{ requireActor: 1 }, 'option requireActor must be a boolean'],
    [{ requiredContext: [''] }, 'option requiredContext must be an array of non-empty strings'],
    [{ isAllowed: true }, 'option isAllowed must be a function'],
    [{ getCustomJwtClaims: {} }, 'option getCustomJwtClaims must be a function'],
    [{ environmentVariables: [] }, 'option environmentVariables must be an object of JSON values'],
    [
      { managementResource: '/api' },
      'option managementResource must be an absolute URI without query and fragment',
    ],
    [{ statusList: true }, 'option statusList must be an object or false'],
    [{ statusList: { ttl: 4 } }, 'option statusList.ttl must be a whole number from 5 to 300'],
    [
      { statusList: { uri: 'urn:lists' } },
      'option statusList.uri must be an http or https URL without query and fragment',
    ],
    [{ statusList: { TTL: 30 } }, 'unknown option: statusList.TTL'],
    [{ onBehalfOf: 1 }, 'option onBehalfOf must be a boolean or an object'],
    [{ onBehalfOf: { depth: 1 } }, 'unknown option: onBehalfOf.depth'],
    [{ onBehalfOf: { scopes: 'policy' } }, 'unknown option: onBehalfOf.scopes'],
    [{ onBehalfOf: true, statusList: false }, 'option onBehalfOf needs statusList'],
    [{ subjectTokenTtl: 600 }, 'unknown option: subjectTokenTtl'],
  ]
  for (const [given, text] of texts) {
    it(`are refused with the words: ${text.slice(0, 80)}`, () => {
      const isComplete = text.includes('createImpersonation') || text.includes('option store')
      const options = isComplete ? given : Object.assign({ store }, given)
      expect(() => createImpersonation(options as ImpersonationOptions))
        .to.throw(TypeError)
        .with.property('message', text)
    })
  }
})
