/** What the page of one record says: what happened, in which order, and the details. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { API } from '../../fixtures/deployment.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const NEXT = 'f'.repeat(32)

describe('console: a record', () => {
  let clock: StoppedClock
  let console: ConsoleDeployment
  before(async () => {
    clock = stopClock()
    console = await startConsole()
  })
  beforeEach(() => console.change({}))
  after(async () => {
    await console.close()
    clock.restore()
  })

  const read = async (id: string): Promise<string> => (await console.get(`/${id}`)).text

  /** The timeline: the kind of each happening, and its text. */
  async function happenedTo(id: string): Promise<(string | undefined)[][]> {
    const lines = (await read(id)).matchAll(
      /<li class="(\w*)"><time datetime="[^"]{20}">[^<]+<\/time> <span>(.*?)<\/span><\/li>/g,
    )
    return [...lines].map(([, kind, text]) => [kind, text])
  }

  async function detailsOf(id: string): Promise<Record<string, string>> {
    const rows = (await read(id)).matchAll(/<div><dt>([^<]*)<\/dt><dd>(.*?)<\/dd><\/div>/gs)
    return Object.fromEntries([...rows].map(([, name, value]) => [name, value]))
  }

  const ISSUED = ['', 'issued by <code>backend</code>, to be used within 10:00']
  const USED = 'exchanged by <code>spa</code>'

  it('says how it was used, and when that will end', async () => {
    const id = await console.keep({ use: { actor: { sub: 'sam' } } })
    expect(await happenedTo(id)).to.deep.equal([
      ISSUED,
      ['', `${USED} for <bdi>sam</bdi>: a JWT <code>${id}</code>, valid for 10:00`],
      ['future', 'will end: the access token expires'],
    ])
    const details = await detailsOf(id)
    expect(details).to.include({ Engineer: '<bdi>sam</bdi>', 'Access token': 'JWT' })
    expect(details).to.include({ 'Token id (jti)': `<code>${id}</code>`, Record: `<code>${id}</code>` })
  })

  it('says that no engineer was named, and that the access token is opaque', async () => {
    const expiresAt = now() - 60
    const id = await console.keep({
      createdAt: expiresAt - 120,
      expiresAt: expiresAt + 480,
      use: { at: expiresAt - 60, accessToken: { format: 'opaque', expiresAt } },
    })
    expect(await happenedTo(id)).to.deep.equal([
      ISSUED,
      ['', `${USED} without an engineer: an opaque access token, valid for 1:00`],
      ['', 'ended: the access token expires'],
    ])
    const details = await detailsOf(id)
    expect(details).to.include({ 'Access token': 'opaque' })
    expect(details).not.to.have.any.keys('Engineer', 'Token id (jti)', 'Context')
  })

  for (const [revocation, kind, text] of [
    [
      { cause: 'console', by: 'dora', reason: 'wrong customer' },
      'stopped',
      'stopped by <bdi>dora</bdi> in the console: “<bdi>wrong customer</bdi>”',
    ],
    [
      { cause: 'self', client: 'desk', by: 'sam', reason: 'done' },
      '',
      'ended by <bdi>sam</bdi> at the wish of the engineer (<code>desk</code>): “<bdi>done</bdi>”',
    ],
    [
      { cause: 'continued', client: 'desk', continuedBy: NEXT },
      '',
      `ended <a href="/impersonations/${NEXT}">because another one goes on</a> (<code>desk</code>)`,
    ],
    [{ cause: 'signedOut' }, '', 'ended at the end of the session'],
    [{ cause: 'host', by: 'nightly' }, 'stopped', 'stopped by <bdi>nightly</bdi> by a call in the provider'],
    [{ cause: 'unknown' }, 'stopped', 'stopped in a way that cannot be read'],
    [{ cause: 'api', client: 'desk' }, 'stopped', 'stopped through the management API (<code>desk</code>)'],
    [{ cause: 'command' }, 'stopped', 'stopped by the command line'],
    [{ cause: 'replay' }, 'alarm', 'stopped because the subject token was used again'],
  ] as const) {
    it(`says that it was ${text.replaceAll(/<.*?>/g, '')}`, async () => {
      const id = await console.keep({ revocation })
      expect(await happenedTo(id)).to.deep.equal([ISSUED, [kind, text]])
    })
  }

  it('says that nothing could end it, and when it will expire', async () => {
    const id = await console.keep({
      use: { accessToken: { format: 'jwt', expiresAt: now() + 600, kept: true } },
      revocation: { cause: 'self' },
    })
    const expires = new Date((now() + 600) * 1000).toISOString().slice(11, 19)
    const [, , stop, end] = await happenedTo(id)
    expect(stop?.[1]).to.match(
      /^ended at the wish of the engineer\. <b class="alarm">It cannot be ended, expires at /,
    )
    expect(stop?.[1]).to.include(expires)
    expect(end).to.deep.equal(['future', 'will end: the access token expires'])
    const text = await read(id)
    expect(text).to.include('data-refresh="15"').and.not.to.include('Stop this impersonation')
    clock.tick(600)
    expect((await happenedTo(id)).map(([, what]) => what).slice(2)).to.deep.equal([
      'ended at the wish of the engineer',
    ])
  })

  const asSession = (logout: 'pending' | 'unsupported', life = 600) => ({
    purpose: 'session' as const,
    use: {
      actor: { sub: 'sam' },
      accessToken: { format: 'session' as const, expiresAt: now() + life },
      session: { logout },
    },
  })
  const settled = async (id: string, logout: 'confirmed' | 'gaveUp') => {
    const { issuer, database } = console
    const { sessions } = createSubjectTokenStore(database.sequelize)
    await sessions?.settle(issuer, id, { mark: null, logout, at: now() })
  }
  const OPENED = ['', 'opened by <code>spa</code> for <bdi>sam</bdi>: a session, valid for 10:00']

  it('says of a session what its application has said of the end', async () => {
    const id = await console.keep(asSession('pending'))
    expect(await happenedTo(id)).to.deep.equal([ISSUED, OPENED, ['future', 'will end: the session expires']])
    clock.tick(600)
    const ended = ['', 'ended: the session expires']
    const waits = ['stopped', 'not confirmed by <code>spa</code> yet: it is told again']
    expect(await happenedTo(id)).to.deep.equal([ISSUED, OPENED, ended, waits])
    await settled(id, 'confirmed')
    const confirmed = ['', 'confirmed by <code>spa</code>: its own session has ended']
    expect(await happenedTo(id)).to.deep.equal([ISSUED, OPENED, ended, confirmed])
  })

  it('says of a session in red that its application may go on', async () => {
    const untold = await console.keep(asSession('unsupported'))
    expect(
      (await happenedTo(untold)).map(([kind, text]) => [kind, text?.replaceAll(/<.*?>/g, '')]),
    ).to.deep.include(['alarm', 'spa cannot be told that it ends: its own session may last longer'])
    const silent = await console.keep({
      ...asSession('pending'),
      revocation: { cause: 'console', by: 'dora' },
    })
    await settled(silent, 'gaveUp')
    expect((await happenedTo(silent)).at(-1)).to.deep.equal([
      'alarm',
      'not confirmed by <code>spa</code> within an hour: its own session may last longer',
    ])
  })

  it('has what was allowed beside what was granted', async () => {
    const resource = ['https://api.example.com', 'https://billing.example.com']
    const id = await console.keep({
      resource,
      scope: 'orders:read orders:write',
      use: { scope: 'orders:read' },
    })
    expect(await detailsOf(id)).to.include({
      Resource: '<code>https://api.example.com</code>',
      'Allowed resources': `<code>${resource.join(', ')}</code>`,
      Scopes: '<code>orders:read</code>',
      'Allowed scopes': '<code>orders:read orders:write</code>',
    })
    const unused = await detailsOf(await console.keep({ resource }))
    expect(unused).to.include({ Resource: `<code>${resource.join(', ')}</code>` })
    expect(unused).not.to.have.any.keys('Allowed resources', 'Allowed scopes')
  })

  it('has what it was bound to where it differs from what became of it, and a context that says more', async () => {
    const bound = { actorId: 'sam', clientId: 'spa', scope: 'orders:read', resource: API }
    const context = { reason: 'A teapot is missing', ticketId: 'T-1' }
    const use = { actor: { sub: 'sam' }, clientId: 'spa', scope: 'orders:read', resource: API }
    const same = await detailsOf(await console.keep({ ...bound, context, use }))
    expect(same).not.to.have.any.keys(
      ...['Bound to engineer', 'Bound to application', 'Allowed resources', 'Allowed scopes', 'Context'],
    )
    const others = { ...use, actor: { sub: 'robin' }, clientId: 'desk', scope: 'orders:write' }
    const more = { ...context, order: 7 }
    expect(await detailsOf(await console.keep({ ...bound, context: more, use: others }))).to.include.all.keys(
      ...['Bound to engineer', 'Bound to application', 'Allowed scopes', 'Context'],
    )
  })

  it('says who has looked into its alarms, and what they found', async () => {
    const acknowledgement = { by: 'dora', note: 'a job of ours' }
    const id = await console.keep({ use: {}, acknowledgement })
    expect(await happenedTo(id)).to.deep.include([
      '',
      'looked into by <bdi>dora</bdi>: “<bdi>a job of ours</bdi>”',
    ])
  })

  it('has each name with the id behind it', async () => {
    console.change({ nameOf: () => new Map([['alice', { name: 'Alice', url: 'https://people.example/a' }]]) })
    const id = await console.keep({ userId: 'alice', actorId: 'sam' })
    expect(await detailsOf(id)).to.include({
      User: '<a href="https://people.example/a"><bdi>Alice</bdi></a> <code>alice</code>',
      'Bound to engineer': '<bdi>sam</bdi>',
    })
  })

  it('marks the field of a reason that was wrong, and no other', async () => {
    const id = await console.keep()
    const attributes = (text: string) => /<input name="reason" value="\s*" id="stop"([^>]*)>/.exec(text)?.[1]
    expect(attributes(await read(id))).to.equal(' required maxlength="1000"')
    const { text } = await console.post('/stop', { id, reason: ' ' })
    expect(attributes(text)).to.equal(
      ' required maxlength="1000" aria-invalid="true" aria-describedby="error"',
    )
    expect(text).to.include('<p class="error" id="error" role="alert">Reason must be')
  })
})
