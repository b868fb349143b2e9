/** An engineer at one application: in as the customer, out by each way in which a session ends, and in again to look. */
const PATIENCE = 15_000
/** A page of one of five walks at a time, on a busy machine. */
const LOADING = 60_000

const GOES_ON = 'its own session goes on'

/** How a session ends. */
const ENDS = {
  stop: ({ records }, { id }) => records.stop({ id, by: 'sam' }),
  'kill switch': ({ records }, { userId }) => records.stopAll({ userId, by: 'dana' }),
  expiry: ({ records }, { id }) => ended(records, id),
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function ended(records, id) {
  const { session } = await records.get(id)
  await pause(session.endsAt * 1000 - Date.now())
}

const REFUSED = '403, and 200 to the customer'

/** Resolves to the row of the application. */
export async function walk(browser, host, { application, baseUrl, client }) {
  // A customer of its own, so that a kill switch ends nothing at another application.
  const userId = `alice-${client.client_id}`
  const row = { application: application.name }
  for (const [name, end] of Object.entries(ENDS)) {
    const context = await browser.newContext()
    try {
      const { page, id } = await open(context, host, { application, client, userId })
      await page.waitForURL(`${baseUrl}/`)
      const shown = JSON.parse(await page.locator('body').innerText())
      row.in = shown.sub === userId ? 'as the customer' : `as ${shown.sub}`
      row.act = shown.act?.sub ?? 'not shown'
      const before = await host.userinfo(userId)
      await end(host, { id, userId })
      row[name] = await outcome(page, baseUrl, userId)
      row.userinfo = `${before}, then ${await host.userinfo(userId)}`
      row.record = (await host.records.get(id)).session.logout
      row['its own cookie lasts'] = await lifeOf(context, baseUrl)
    } catch (error) {
      row[name] = error.message.split('\n')[0].slice(0, 60)
    } finally {
      await context.close()
    }
  }
  return { ...row, ...(await look(browser, host, { application, baseUrl, client }, userId)) }
}

/** Opens it read-only, tries to change something there, does the same as the customer, and signs out. */
async function look(browser, host, { application, baseUrl, client }, userId) {
  const [engineers, customers] = [await browser.newContext(), await browser.newContext()]
  try {
    const { page } = await open(engineers, host, { application, client, userId, readOnly: true })
    await page.waitForURL(`${baseUrl}/`)
    const refused = await change(page)
    const taken = await change(await signIn(customers, application, baseUrl, userId))
    await application.signOut(page, baseUrl)
    return {
      'a change, read-only': `${refused}, and ${taken} to the customer`,
      'sign-out, read-only': await outcome(page, baseUrl, userId),
    }
  } catch (error) {
    return { 'a change, read-only': error.message.split('\n')[0].slice(0, 60) }
  } finally {
    await engineers.close()
    await customers.close()
  }
}

const change = (page) => page.evaluate(async () => (await fetch('/change', { method: 'POST' })).status)

/** Resolves to the page of the application, in which the customer has signed in. */
async function signIn(context, application, baseUrl, userId) {
  const page = await context.newPage()
  page.setDefaultTimeout(LOADING)
  await page.goto(baseUrl + application.begins)
  await chooseProvider(page, application)
  await logIn(page, userId)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL(`${baseUrl}/`)
  return page
}

/** From the desk, which has a subject token, through the sign-in and the door. */
async function open(context, { door, records }, { application, client, userId, readOnly = false }) {
  const page = await context.newPage()
  page.setDefaultTimeout(LOADING)
  const { id, subjectToken } = await records.issue({
    use: 'session',
    readOnly,
    userId,
    actorId: 'sam',
    clientId: client.client_id,
    createdBy: 'desk',
    context: { reason: 'An order is missing' },
  })
  await page.setContent(
    `<form method="post" action="${door}"><input name="subject_token" value="${subjectToken}"><button>Open</button></form>`,
  )
  await page.getByRole('button', { name: 'Open' }).click()
  await logIn(page, 'sam')
  await page.getByRole('button', { name: /^Open as/ }).click()
  await chooseProvider(page, application)
  return { page, id }
}

async function logIn(page, accountId) {
  await page.locator('input[name=login]').fill(accountId)
  await page.locator('input[name=password]').fill('x')
  await page.locator('button[type=submit]').click()
}

/** Some ask first where to sign in. */
async function chooseProvider(page, { begins }) {
  if (begins === '/auth/signin') await page.getByRole('button', { name: 'Sign in with the provider' }).click()
}

/** Whether a row is as the documentation of sessions says, for an application that can be told of the end or not. */
export function isAsPromised(row, isTold) {
  const ends = Object.keys(ENDS).map((name) => row[name])
  return (
    row.in === 'as the customer' &&
    row.userinfo === '200, then 401' &&
    row.record === (isTold ? 'confirmed' : 'unsupported') &&
    row['a change, read-only'] === REFUSED &&
    /^out after/.test(row['sign-out, read-only']) &&
    ends.every((end) => (isTold ? /^out after/.test(end) : end === GOES_ON))
  )
}

/** How long the application still shows the customer. */
async function outcome(page, baseUrl, userId) {
  const since = Date.now()
  while (Date.now() - since < PATIENCE) {
    await page.goto(baseUrl)
    if (!(await page.locator('body').innerText()).includes(`"${userId}"`))
      return `out after ${Math.ceil((Date.now() - since) / 1000)} s`
    await pause(200)
  }
  return GOES_ON
}

async function lifeOf(context, baseUrl) {
  // Cookies do not know ports: those that begin with _ are the provider's.
  const cookies = (await context.cookies(baseUrl)).filter((cookie) => !cookie.name.startsWith('_'))
  const until = Math.max(...cookies.map(({ expires }) => expires))
  return until < 0 ? 'until the browser closes' : `${Math.round((until - Date.now() / 1000) / 3600)} h`
}
