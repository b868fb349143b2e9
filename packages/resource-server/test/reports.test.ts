/** What `onStatusList` is told of each attempt to fetch a list, and that it changes nothing. */
import { expect } from 'chai'
import type { StatusListReport, VerifierOptions } from '../src/index.ts'
import { LIST, NOW, respond, withBearer } from './issuer.ts'
import { type StoppedIssuer, startStoppedIssuer } from './stopped-issuer.ts'

describe('resource server: reports on status lists', () => {
  let issuer: StoppedIssuer
  const reports: StatusListReport[] = []
  beforeEach(async () => {
    issuer = await startStoppedIssuer()
    await issuer.publish()
    reports.length = 0
  })
  afterEach(() => issuer.close())

  const verifying = (options: Partial<VerifierOptions> = {}) => {
    const verify = issuer.verifier({ onStatusList: (report) => void reports.push(report), ...options })
    return async () => {
      const token = await issuer.tokenWithStatus(0, { exp: NOW + 86_400 })
      return verify(withBearer(token)).then(
        () => 'valid',
        ({ name }) => name,
      )
    }
  }
  const fails = () => issuer.routes.set(LIST, (_, response) => respond(response, '', { status: 500 }))
  const uri = () => `${issuer.issuer.replace(/\/oidc$/, '')}${LIST}`

  it('name the list and its age, once for each attempt', async () => {
    const seen = verifying()
    expect([await seen(), await seen()]).to.deep.equal(['valid', 'valid'])
    expect(reports).to.deep.equal([{ uri: uri(), age: 0, outcome: 'fetched' }])
  })

  it('show how old the list becomes that serves while nothing newer can be had', async () => {
    const seen = verifying()
    await seen()
    fails()
    issuer.clock.tick(60)
    expect(await seen()).to.equal('valid')
    expect(reports.at(-1)).to.deep.equal({ uri: uri(), age: 60, outcome: 'failed' })
  })

  it('have no age when there is no list left, and every token is refused', async () => {
    fails()
    expect(await verifying()()).to.equal('ProviderUnavailable')
    expect(reports).to.deep.equal([{ uri: uri(), outcome: 'failed' }])
  })

  for (const [title, onStatusList] of Object.entries({
    throws: () => {
      throw new Error('private')
    },
    rejects: () => Promise.reject(new Error('private')),
    'never settles': () => new Promise<void>(() => {}),
  })) {
    it(`change nothing if the function ${title}`, async () => {
      expect(await verifying({ onStatusList })()).to.equal('valid')
      fails()
      issuer.clock.tick(3600)
      expect(await verifying({ onStatusList })()).to.equal('ProviderUnavailable')
    })
  }
})
