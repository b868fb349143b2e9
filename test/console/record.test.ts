/** What the page of one record says: what happened, in which order, and the details. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'

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
      /<li class="(\w*)"><time>[^<]+<\/time> <span>(.*?)<\/span><\/li>/g,
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
      ['', `${USED} for <bdi>sam</bdi>: a JWT <code>a-jti</code>, valid for 10:00`],
      ['future', 'will end: the access token expires'],
    ])
    const details = await detailsOf(id)
    expect(details).to.include({ Engineer: '<bdi>sam</bdi>', 'Access token': 'JWT' })
    expect(details).to.include({ 'Token id (jti)': '<code>a-jti</code>', Record: `<code>${id}</code>` })
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
      'warn',
      'stopped by <bdi>dora</bdi> in the console: “<bdi>wrong customer</bdi>”',
    ],
    [{ cause: 'api', client: 'desk' }, 'warn', 'stopped through the management API (<code>desk</code>)'],
    [{ cause: 'command' }, 'warn', 'stopped by the command line'],
    [{ cause: 'replay' }, 'bad', 'stopped because the subject token was used again'],
  ] as const) {
    it(`says how it was ${text.replaceAll(/<.*?>/g, '')}`, async () => {
      const id = await console.keep({ revocation })
      expect(await happenedTo(id)).to.deep.equal([ISSUED, [kind, text]])
    })
  }

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
