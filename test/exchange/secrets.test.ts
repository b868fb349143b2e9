/** Where no token may ever be found (protocol.md §2.2, §6): tables, events, errors, logs. */
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { DATABASES, openDatabase } from '../../fixtures/databases.ts'
import { API, type Deployment, OPAQUE_API, withDeployment } from '../../fixtures/deployment.ts'
import { itOn } from '../../fixtures/on-database.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { AccessDenied } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** Every value of every table, as the database returns it. */
async function dump(sequelize: Sequelize): Promise<string> {
  const tables = await sequelize.getQueryInterface().showAllTables()
  const names = tables.map((table) => (typeof table === 'string' ? table : Reflect.get(table, 'tableName')))
  expect(names).to.include('subject_tokens')
  const rows = []
  for (const name of names) {
    rows.push(await sequelize.query(`SELECT * FROM ${name}`, { type: QueryTypes.SELECT }))
  }
  const text = JSON.stringify(rows, (_, value) =>
    value?.type === 'Buffer' ? textsOf(Buffer.from(value.data)) : value,
  )
  expect(text).to.include('alice')
  return text
}

/** Bytes may be text, or what a text stands for. */
const textsOf = (bytes: Buffer) => (['utf8', 'hex', 'base64url'] as const).map((form) => bytes.toString(form))

/** Everything the process prints while `work` runs. */
async function printedDuring(work: () => Promise<void>): Promise<string> {
  const printed: string[] = []
  const streams = [process.stdout, process.stderr]
  const writes = streams.map((stream) => stream.write)
  for (const stream of streams) {
    stream.write = ((chunk: unknown) => {
      printed.push(String(chunk))
      return true
    }) as typeof stream.write
  }
  try {
    await work()
  } finally {
    streams.forEach((stream, index) => {
      stream.write = writes[index] as typeof stream.write
    })
  }
  return printed.join('')
}

const everything = (value: unknown) =>
  inspect(value, {
    depth: Number.POSITIVE_INFINITY,
    showHidden: true,
    getters: true,
    maxStringLength: null,
    maxArrayLength: null,
  })

const hashes = (secret: string) => {
  const digest = createHash('sha256').update(secret).digest()
  return [digest.toString('base64url'), digest.toString('base64'), digest.toString('hex')]
}

const expectNone = (text: string, secrets: readonly string[], place: string) => {
  for (const secret of secrets) {
    expect(secret.length).to.be.greaterThan(20)
    expect(text.includes(secret), `${place} holds ${secret.slice(0, 8)}…`).to.equal(false)
  }
}

/** The claims function of this flow fails when the context says so. */
const getCustomJwtClaims = ({
  context,
}: {
  context: { grant: { subjectTokenContext: { mode?: unknown } } }
}) => {
  const { mode } = context.grant.subjectTokenContext
  if (mode === 'deny') throw new AccessDenied('denied')
  if (mode === 'fail') throw new Error('failed', { cause: new Error('inner') })
  return mode === 'wrong' ? { sub: 'mallory' } : { mode: String(mode) }
}

/** Successes and failures of every kind. Resolves to the tokens that were used. */
async function wholeFlow(deployment: Deployment): Promise<string[]> {
  const management = await managementToken(deployment)
  const actors = [await actorToken(deployment), await actorJwt(deployment)]
  const secrets = [management, ...actors]
  for (const mode of ['ok', 'deny', 'fail', 'wrong']) {
    for (const resource of [API, OPAQUE_API]) {
      for (const actor of [undefined, ...actors]) {
        const { subjectToken } = await issue(deployment, { context: { mode } }, management)
        const parameters = { subject_token: subjectToken, resource, ...(actor && withActor(actor)) }
        const responses = [
          await exchange(deployment, { ...parameters, scope: 'unknown' }),
          await exchange(deployment, { ...parameters, resource: 'https://unknown.example.com' }),
          await exchange(deployment, {
            ...parameters,
            ...withActor('eyJ.forged-actor-token-of-this-test.x'),
          }),
          await exchange(deployment, parameters),
          await exchange(deployment, parameters),
        ]
        const tokens = responses.map(({ body }) => body.access_token).filter(Boolean)
        expect(tokens).to.have.lengthOf(mode === 'ok' ? 1 : 0)
        secrets.push(subjectToken, ...tokens)
      }
    }
  }
  await postSubjectToken(deployment, { userId: 'nobody' }, management)
  await postSubjectToken(deployment, { userId: 'alice', unknown: 1 }, management)
  return [...secrets, 'eyJ.forged-actor-token-of-this-test.x']
}

describe('token exchange: secrets', () => {
  for (const kind of DATABASES) {
    itOn(kind, `are found in no table, event, error, SQL log or output on ${kind}`, async () => {
      await withDeployment({ database: kind, options: { getCustomJwtClaims } }, async (deployment) => {
        let secrets: string[] = []
        const printed = await printedDuring(async () => {
          secrets = await wholeFlow(deployment)
        })
        expect(secrets.length).to.be.greaterThan(30)
        // The id before the secret is in every table.
        secrets = [
          ...secrets,
          ...secrets.filter((text) => text.startsWith('sub_')).map((text) => text.slice(26)),
        ]
        expectNone(await dump(deployment.database.sequelize), secrets, 'a table')

        const withHashes = [...secrets, ...secrets.flatMap(hashes)]
        expect(deployment.events.length).to.be.greaterThan(100)
        expectNone(everything(deployment.events), withHashes, 'an event')
        expect(deployment.errors).to.have.lengthOf.greaterThan(10)
        expectNone(everything(deployment.errors), withHashes, 'an error')
        expect(deployment.database.statements.length).to.be.greaterThan(50)
        expectNone(deployment.database.statements.join('\n'), withHashes, 'a SQL log line')
        expectNone(printed, withHashes, 'stdout or stderr')
      })
    })

    itOn(
      kind,
      `are found in no error or log of a database that fails, nor where parameters are logged, on ${kind}`,
      async () => {
        const database = await openDatabase(kind)
        try {
          const logging = database.connect({ logQueryParameters: true })
          const options = { store: createSubjectTokenStore(logging), getCustomJwtClaims }
          await withDeployment({ database, options }, async (deployment) => {
            const { subjectToken } = await issue(deployment)
            const spent = await issue(deployment)
            await exchange(deployment, { subject_token: spent.subjectToken })
            await database.sequelize.query('ALTER TABLE subject_tokens RENAME TO elsewhere')
            const printed = await printedDuring(async () => {
              const response = await exchange(deployment, { subject_token: subjectToken })
              expect(response.status, response.text).to.equal(503)
              expect((await postSubjectToken(deployment, { userId: 'alice' })).status).to.equal(503)
            })
            const secrets = [subjectToken, spent.subjectToken].flatMap((token) => [token, ...hashes(token)])
            const places = [deployment.events, deployment.errors, database.statements, printed]
            expectNone(everything(places), secrets, 'something')
            // The new token of the failed issuance is unknown here: look for its shape, and for its hash.
            expect(everything(places)).not.to.match(/sub_[A-Za-z0-9_-]{65}/)
            const told = everything([deployment.events, deployment.errors])
            expect(told).not.to.match(/'[A-Za-z0-9_-]{43}'/)
            await database.sequelize.query('ALTER TABLE elsewhere RENAME TO subject_tokens')
          })
        } finally {
          await database.close()
        }
      },
    )
  }
})
