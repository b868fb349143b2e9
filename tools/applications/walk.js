/** An engineer at one application: in as the customer, and out by each way in which a session ends. */
const PATIENCE = 15_000

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

/** Resolves to the row of the application. */
export async function walk(browser, host, { application, baseUrl, client }) {
  // A customer of its own, so that a kill switch ends nothing at another application.
  const userId = `alice-${client.client_id}`
  const row = { application: application.name }
  for (const [name, end] of Object.entries(ENDS)) {
    const context = await browser.newContext()
    try {
      const { page, id } = await open(context, host, { application, client, userId })
      await page.waitForURL(`${baseUrl}/`, { timeout: PATIENCE })
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
  return row
}

/** From the desk, which has a subject token, through the sign-in and the door. */
async function open(context, { door, records }, { application, client, userId }) {
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const { id, subjectToken } = await records.issue({
    use: 'session',
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
  await page.locator('input[name=login]').fill('sam')
  await page.locator('input[name=password]').fill('x')
  await page.locator('button[type=submit]').click()
  await page.getByRole('button', { name: /^Open as/ }).click()
  // Some ask first where to sign in.
  const where = page.getByRole('button', { name: 'Sign in with the provider' })
  if (application.begins === '/auth/signin') await where.click()
  return { page, id }
}

/** Whether a row is as the documentation of sessions says, for an application that can be told of the end or not. */
export function isAsPromised(row, isTold) {
  const ends = Object.keys(ENDS).map((name) => row[name])
  return (
    row.in === 'as the customer' &&
    row.userinfo === '200, then 401' &&
    row.record === (isTold ? 'confirmed' : 'unsupported') &&
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
