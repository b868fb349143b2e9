/** Where no token may ever be found (docs/protocol.md §2.2, §6): tables, output, and the logs of a database that fails. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { actorJwt, actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import type { Database } from '../../../fixtures/databases.ts'
import { API, type Deployment, OPAQUE_API, withDeployment } from '../../../fixtures/deployment.ts'
import { onEachKind } from '../../../fixtures/on-database.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../../fixtures/requests.ts'
import { AccessDenied } from '../../../src/index.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { hashToken, type SubjectTokenText } from '../../../src/tokens/secret.ts'

/** Every value of every table, as the database returns it. Bytes may be text, or what a text stands for. */
async function dump({ sequelize }: Database): Promise<string> {
  const tables = await sequelize.getQueryInterface().showAllTables()
  const rows = await Promise.all(
    tables.map((table) =>
      sequelize.query(`SELECT * FROM ${Reflect.get(Object(table), 'tableName') ?? table}`, {
        type: QueryTypes.SELECT,
      }),
    ),
  )
  const text = JSON.stringify(rows, (_, value) => {
    if (value?.type !== 'Buffer') return value
    const bytes = Buffer.from(value.data)
    return (['utf8', 'hex', 'base64url'] as const).map((form) => bytes.toString(form))
  })
  expect(text).to.include('alice')
  return text
}

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
    for (const [index, stream] of streams.entries()) stream.write = writes[index] as typeof stream.write
  }
  return printed.join('')
}

const everything = (value: unknown): string =>
  inspect(value, {
    ...{ depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true },
    ...{ maxStringLength: null, maxArrayLength: null },
  })
const hashOf = (text: string): string => hashToken(text as SubjectTokenText)

function expectNone(text: string, secrets: readonly string[], place: string): void {
  for (const secret of secrets) {
    expect(secret.length).to.be.greaterThan(20)
    expect(text.includes(secret), `${place} holds ${secret.slice(0, 8)}…`).to.equal(false)
  }
}

type Request = { context: { grant: { subjectTokenContext: { mode?: unknown } } } }
/** Does what the context says. */
function getCustomJwtClaims({ context }: Request): object {
  const { mode } = context.grant.subjectTokenContext
  if (mode === 'deny') throw new AccessDenied('denied')
  if (mode === 'fail') throw new Error('failed', { cause: new Error('inner') })
  return {}
}

/** Successes, refusals, failures and replays. Resolves to the tokens that were used. */
async function wholeFlow(deployment: Deployment): Promise<string[]> {
  const management = await managementToken(deployment)
  const actors = [await actorToken(deployment), await actorJwt(deployment)]
  const secrets = [management, ...actors]
  for (const mode of ['ok', 'deny', 'fail'])
    for (const resource of [API, OPAQUE_API])
      for (const actor of actors) {
        const { subjectToken } = await issue(deployment, { context: { mode } }, management)
        const parameters = { subject_token: subjectToken, resource, ...withActor(actor) }
        await exchange(deployment, { ...parameters, scope: 'unknown' })
        const { body } = await exchange(deployment, parameters)
        expect(body.access_token !== undefined).to.equal(mode === 'ok')
        await exchange(deployment, parameters)
        // The id before the secret is in every table.
        secrets.push(subjectToken, subjectToken.slice(26), ...(mode === 'ok' ? [body.access_token] : []))
      }
  return secrets
}

describe('token exchange: no token', () => {
  onEachKind((kind) => {
    it('is in a table, nor is it printed', () =>
      withDeployment({ database: kind, options: { getCustomJwtClaims } }, async (deployment) => {
        let secrets: string[] = []
        const printed = await printedDuring(async () => {
          secrets = await wholeFlow(deployment)
        })
        expectNone(await dump(deployment.database), secrets, 'a table')
        expectNone(printed, [...secrets, ...secrets.map(hashOf)], 'stdout or stderr')
      }))

    it('is in an error or a log of a database that fails, nor where parameters are logged', () => {
      const options = (_: string, { connect }: Database) => ({
        store: createSubjectTokenStore(connect({ logQueryParameters: true })),
      })
      return withDeployment({ database: kind, options }, async (deployment) => {
        const { database } = deployment
        const [one, spent] = [await issue(deployment), await issue(deployment)]
        await exchange(deployment, { subject_token: spent.subjectToken })
        await database.sequelize.query('ALTER TABLE subject_tokens RENAME TO elsewhere')
        const printed = await printedDuring(async () => {
          const response = await exchange(deployment, { subject_token: one.subjectToken })
          expect(response.status, response.text).to.equal(503)
          expect((await postSubjectToken(deployment, { userId: 'alice' })).status).to.equal(503)
        })
        const tokens = [one, spent].map(({ subjectToken }) => subjectToken)
        const places = everything([deployment.events, deployment.errors, database.statements, printed])
        expectNone(places, [...tokens, ...tokens.map(hashOf)], 'something')
        // The new token of the failed issuance is unknown here: look for its shape, and for its hash.
        expect(places).not.to.match(/sub_[A-Za-z0-9_-]{65}/)
        expect(everything([deployment.events, deployment.errors])).not.to.match(/'[A-Za-z0-9_-]{43}'/)
        await database.sequelize.query('ALTER TABLE elsewhere RENAME TO subject_tokens')
      })
    })
  })
})
