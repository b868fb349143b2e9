/** Stopping in the console: one, and all of a person. The record and the management API say who and why. */
import { expect } from 'chai'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { OPAQUE_API } from '../../fixtures/deployment.ts'
import { list, show } from '../../fixtures/management.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import type { SubjectTokenStore } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const REASON = 'wrong customer'

describe('console: stopping one', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  beforeEach(() => {
    console.events.length = 0
  })
  after(() => console.close())

  it('ends the access token, records by whom and why, and leads to the record', async () => {
    const { id, subjectToken } = await issue(console)
    const { body } = await exchange(console, { subject_token: subjectToken, resource: OPAQUE_API })
    const response = await console.post('/stop', { id, reason: REASON })
    expect(response.status).to.equal(303)
    expect(response.headers.get('location')).to.equal(`/impersonations/${id}`)
    const revocation = { cause: 'console', by: 'dora', reason: REASON }
    expect((await show(console, id)).body).to.deep.include({ state: 'revoked', revocation })
    expect((await introspect(console, body.access_token)).active).to.equal(false)
    expect(console.events.at(-1)?.payload).to.deep.include({ id, revocation, ended: 'now' })
    const { text } = await console.get(`/${id}`)
    expect(text).to.include('in the console').and.to.include(REASON).and.not.to.include('Stop now')
  })

  it('keeps an unused subject token from being exchanged', async () => {
    const { id, subjectToken } = await issue(console)
    await console.post('/stop', { id, reason: REASON })
    expect((await exchange(console, { subject_token: subjectToken })).status).to.equal(400)
  })

  it('leads to the record also when it has ended before: the first stop stays', async () => {
    const id = await console.keep({ use: {} })
    await console.post('/stop', { id, reason: REASON })
    expect((await console.post('/stop', { id, reason: 'another' })).status).to.equal(303)
    expect((await show(console, id)).body.revocation.reason).to.equal(REASON)
  })

  for (const [title, fields] of Object.entries({
    'no reason': {},
    'a blank reason': { reason: ' \n' },
    'a reason that is too long': { reason: 'x'.repeat(1001) },
    'a reason with NUL': { reason: 'typed\0' },
    'two reasons': { reason: ['typed one', 'two'] },
    'an unknown field': { reason: 'typed', by: 'someone else' },
  })) {
    it(`shows the page again for ${title}, with what was typed`, async () => {
      const id = await console.keep({ use: {} })
      const response = await console.post('/stop', { id, ...fields })
      expect(response.status).to.equal(400)
      expect(response.text).to.include('role="alert"').and.to.include('Stop this impersonation')
      const { reason } = fields as { reason?: string | string[] }
      if (reason) expect(response.text).to.include(`value="${[reason].flat()[0]}"`)
      expect((await show(console, id)).body.state).to.equal('consumed')
    })
  }

  it('does not refresh the page of a wrong input: its address takes no GET, and a reload would send the form again', async () => {
    const id = await console.keep({ use: {} })
    expect((await console.get(`/${id}`)).text).to.include(' data-refresh="15"')
    expect((await console.post('/stop', { id, reason: ' ' })).text).not.to.include(' data-refresh=')
  })

  it('takes only a form', async () => {
    const id = await console.keep({ use: {} })
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', '']) {
      const headers = { 'sec-fetch-site': 'same-origin', 'content-type': type }
      const response = await console.post('/stop', { id, reason: REASON }, headers)
      expect(response.status, type).to.equal(400)
      expect(response.text).to.include('<h1>This did not work</h1><p>The body must be a form.</p>')
    }
    expect((await show(console, id)).body.state).to.equal('consumed')
  })

  it('says that it needs an id', async () => {
    const { status, text } = await console.post('/stop', { reason: REASON })
    expect(status).to.equal(400)
    expect(text).to.include('<h1>This did not work</h1><p>Id is required.</p>')
  })

  it('takes a form whose type is written in capitals', async () => {
    const id = await console.keep({ use: {} })
    const headers = {
      'sec-fetch-site': 'same-origin',
      'content-type': 'Application/X-WWW-Form-URLencoded; charset=UTF-8',
    }
    expect((await console.post('/stop', { id, reason: REASON }, headers)).status).to.equal(303)
  })

  it('refuses a form that is too large', async () => {
    const id = await console.keep({ use: {} })
    expect((await console.post('/stop', { id, reason: 'x'.repeat(70_000) })).status).to.equal(400)
  })
})

describe('console: stopping a record that is purged at that moment', () => {
  let console: ConsoleDeployment
  before(async () => {
    const database = await openDatabase('sqlite')
    const store: SubjectTokenStore = Object.create(createSubjectTokenStore(database.sequelize), {
      revoke: { value: async () => undefined },
    })
    console = await startConsole({}, { database, options: { store } })
  })
  after(async () => {
    await console.close()
    await console.database.close()
  })

  it('says that there is none, instead of that the input was wrong', async () => {
    const response = await console.post('/stop', { id: await console.keep(), reason: REASON })
    expect(response.status).to.equal(404)
    expect(response.text).to.include('<h1>Not found</h1>')
  })
})

describe('console: stopping all of a person', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  const all = (fields: Readonly<Record<string, string>>) =>
    console.post('/stop-all', { reason: REASON, ...fields })

  it('says how many it will stop, and stops these', async () => {
    for (let copies = 0; copies < 3; copies += 1) await console.keep({ userId: 'erin' })
    await console.keep({ userId: 'erin', use: { actor: { sub: 'sam' } } })
    const ended = await console.keep({ userId: 'erin', expiresAt: 1 })
    const stopped = await console.keep({ userId: 'erin', revocation: { cause: 'api', client: 'x' } })
    const other = await console.keep({ userId: 'frank' })
    expect((await console.get('/stop-all?userId=erin')).text).to.match(
      /<strong>4 impersonations<\/strong> of the user .*: 3 that can still be used, and 1 in which someone acts right now/,
    )
    const response = await all({ userId: 'erin', confirm: 'erin' })
    expect(response.status).to.equal(303)
    expect(response.headers.get('location')).to.match(/^\/impersonations\/stop-all\?userId=erin&stopped=\d+$/)
    const { items } = (await list(console, { userId: 'erin' })).body
    const by = items.filter(({ revocation }: { revocation?: object }) => revocation && 'by' in revocation)
    expect(by).to.have.length(4)
    expect(by[0].revocation).to.deep.equal({ cause: 'console', by: 'dora', reason: REASON })
    expect((await show(console, ended)).body.state).to.equal('expired')
    expect((await show(console, stopped)).body.revocation.cause).to.equal('api')
    expect((await show(console, other)).body.state).to.equal('active')
    expect((await console.get('/stop-all?userId=erin')).text).to.include('<strong>0 impersonations</strong>')
  })

  it('says afterwards what was stopped, and from when on every API refuses it', async () => {
    const live = await console.keep({ userId: 'lena', createdBy: 'leaky', use: { actor: { sub: 'sam' } } })
    const unspent = await console.keep({ userId: 'lena', createdBy: 'leaky' })
    const before = await console.keep({ userId: 'lena', createdBy: 'leaky', revocation: { cause: 'api' } })
    const other = await console.keep({ userId: 'lena' })
    const asked = await console.get('/stop-all')
    expect([asked.status, asked.text.includes('role="alert"')]).to.deep.equal([400, false])
    const { text: form } = await console.get('/stop-all?createdBy=leaky')
    expect(form).to.include('of the backend <code>leaky</code>: 1 that can still be used, and 1 in which')
    const response = await all({ createdBy: 'leaky', confirm: 'leaky' })
    expect(response.status).to.equal(303)
    const [, page = ''] = /^\/impersonations(.*)$/.exec(response.headers.get('location') ?? '') ?? []
    const { text } = await console.get(page)
    expect(text).to.match(/<strong>2 impersonations<\/strong> stopped at <time datetime="[^"]*">/)
    const revokedAt = (await show(console, live)).body.revokedAt
    const refused = new Date((revokedAt + 32) * 1000).toISOString().replace('.000', '')
    expect(text).to.include(`Every API refuses it from <time datetime="${refused}">`)
    for (const id of [live, unspent]) {
      expect(text).to.include(`/impersonations/${id}`)
      const revocation = { cause: 'console', by: 'dora', reason: REASON }
      expect((await show(console, id)).body.revocation).to.deep.equal(revocation)
    }
    for (const id of [before, other]) expect(text).not.to.include(id)
    const later = await console.get(`/stop-all?createdBy=leaky&stopped=${revokedAt + 1}`)
    expect(later.text).to.include('<strong>0 impersonations</strong>').and.not.to.include(live)
    expect((await show(console, other)).body.state).to.equal('active')
  })

  it('stops what an engineer does', async () => {
    const id = await console.keep({ userId: 'gina', use: { actor: { sub: 'robin' } } })
    expect((await console.get('/stop-all?actorId=robin')).text).to.include('<strong>1 impersonation</strong>')
    expect((await all({ actorId: 'robin', confirm: 'robin' })).status).to.equal(303)
    expect((await show(console, id)).body.state).to.equal('revoked')
  })

  it('counts to a hundred', async () => {
    const text = async () => (await console.get('/stop-all?userId=henry')).text
    for (let copies = 0; copies < 99; copies += 1) await console.keep({ userId: 'henry' })
    expect(await text()).to.include('<strong>99 impersonations</strong>')
    await console.keep({ userId: 'henry', use: {} })
    expect(await text()).to.include('<strong>100 or more impersonations</strong>')
  })

  it('asks for the reason and the id in the browser, too', async () => {
    const { text } = await console.get('/stop-all?userId=ian')
    expect(text).to.match(/<label>Reason<input name="reason" value="" required maxlength="1000"/)
    expect(text).to.match(/Type <code>ian<\/code> to confirm<input name="confirm" value="" required/)
    expect(text).to.include('<a class="button" href="/impersonations">Cancel</a>')
  })

  it('is led to from a filter by user and from one by engineer, and from no other', async () => {
    const links = async (query: string) =>
      [...(await console.get(`/history?${query}`)).text.matchAll(/href="[^"]*(\/stop-all[^"]*)"/g)].map(
        ([, address]) => address,
      )
    expect(await links('userId=ian')).to.deep.equal(['/stop-all?userId=ian'])
    expect(await links('actorId=sam')).to.deep.equal(['/stop-all?actorId=sam'])
    expect(await links('clientId=desk')).to.deep.equal([])
  })

  it('says that the id must be typed as it is', async () => {
    const { text } = await all({ userId: 'ian', confirm: 'ivan' })
    expect(text).to.include('role="alert">The id must be typed exactly as shown.</p>')
  })

  const WRONG: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'the id is not typed again': { userId: 'ian' },
    'another id is typed': { userId: 'ian', confirm: 'ivan' },
    'the id is typed in another case': { userId: 'ian', confirm: 'Ian' },
    'the id is typed with a space': { userId: 'ian', confirm: 'ian ' },
    'there is no reason': { userId: 'ian', confirm: 'ian', reason: '' },
    'there is a user and an engineer': { userId: 'ian', actorId: 'ian', confirm: 'ian' },
    'there is neither': { confirm: 'ian' },
    'it names a backend, too': { createdBy: 'backend', confirm: 'backend', actorId: 'ian' },
    'a field is unknown': { userId: 'ian', confirm: 'ian', force: 'yes' },
  }
  for (const [title, fields] of Object.entries(WRONG)) {
    it(`shows the page again when ${title}, and stops nothing`, async () => {
      const id = await console.keep({ userId: 'ian' })
      const response = await all({ reason: 'typed before', ...fields })
      expect(response.status).to.equal(400)
      expect(response.text).to.include('role="alert"')
      if ('userId' in fields && !('actorId' in fields) && !('force' in fields) && !('reason' in fields))
        expect(response.text).to.include('value="typed before"').and.to.include('name="confirm"')
      expect((await show(console, id)).body.state).to.equal('active')
    })
  }

  it('shows again what was typed that names no one person', async () => {
    const both = await console.get('/stop-all?userId=ian&actorId=sam')
    expect(both.status).to.equal(400)
    expect(both.text).to.include('name="userId" value="ian"').and.to.include('name="actorId" value="sam"')
    const long = 'x'.repeat(256)
    expect((await console.get(`/stop-all?actorId=${long}`)).text).to.include(`name="actorId" value="${long}"`)
  })

  it('shows the page again when no reason was sent at all, and stops nothing', async () => {
    const id = await console.keep({ userId: 'ian' })
    const response = await console.post('/stop-all', { userId: 'ian', confirm: 'ian' })
    expect(response.status).to.equal(400)
    expect(response.text).to.include('role="alert"').and.to.include('name="confirm"')
    expect((await show(console, id)).body.state).to.equal('active')
  })

  it('shows again what was typed, however large that makes the page', async () => {
    const reason = 'x'.repeat(60_000)
    const response = await all({ userId: 'ian', confirm: 'ian', reason })
    expect(response.status).to.equal(400)
    expect(response.text).to.include(`value="${reason}"`)
  })

  it('needs a right of its own', async () => {
    console.change({ authorize: () => ({ ...DORA, can: ['see', 'stop'] }) })
    const id = await console.keep({ userId: 'jack' })
    expect((await all({ userId: 'jack', confirm: 'jack' })).status).to.equal(403)
    expect((await console.get('/stop-all?userId=jack')).status).to.equal(403)
    expect((await show(console, id)).body.state).to.equal('active')
    console.change({})
  })
})

describe('console: stopping without the right to see', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole({ authorize: () => ({ id: 'dora', can: ['stop', 'stopAll'] }) })
  })
  after(() => console.close())

  const SECRET = 'a customer only auditors may know'
  const keep = () => console.keep({ userId: 'kim', context: { reason: SECRET }, use: {} })

  it('says what was wrong with the input, and shows nothing of the record', async () => {
    const id = await keep()
    const response = await console.post('/stop', { id })
    expect(response.status).to.equal(400)
    expect(response.text).to.include('Reason').and.not.to.include(SECRET).and.not.to.include('kim')
    expect(response.text).not.to.include('Back to the console')
    expect((await show(console, id)).body.state).to.equal('consumed')
  })

  it('responds with 303 to a stop, and the page it leads to says no more than that it was carried out', async () => {
    const id = await keep()
    const response = await console.post('/stop', { id, reason: REASON })
    expect(response.status).to.equal(303)
    expect(response.headers.get('location')).to.equal(`/impersonations/${id}`)
    expect((await show(console, id)).body.state).to.equal('revoked')
    const page = await console.get(`/${id}`)
    expect(page.status).to.equal(403)
    expect(page.text).to.include('A stop that led here was carried out.')
    expect(page.text).not.to.include(SECRET).and.not.to.include('kim')
  })

  it('responds with 303 to a stop of all, and leads to the page that says how many are left', async () => {
    const id = await keep()
    const response = await console.post('/stop-all', { userId: 'kim', confirm: 'kim', reason: REASON })
    expect(response.status).to.equal(303)
    expect(response.headers.get('location')).to.equal('/impersonations/stop-all?userId=kim')
    expect((await show(console, id)).body.state).to.equal('revoked')
    const page = await console.get('/stop-all?userId=kim')
    expect(page.text).to.include('<strong>0 impersonations</strong>').and.not.to.include(SECRET)
    const stopped = await console.get('/stop-all?userId=kim&stopped=0')
    expect(stopped.text)
      .to.include('<strong>0 impersonations</strong> of the user')
      .and.not.to.include(SECRET)
    expect(stopped.text).not.to.include(id)
  })
})
