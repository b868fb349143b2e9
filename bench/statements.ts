/** Counts the statements of each operation at the driver, on a separate server, without timing anything. */
import { API, OPAQUE_API } from './deployment.ts'
import type { PreparedRequest } from './load.ts'
import { exchange, issue, onBehalfOf } from './requests.ts'
import { fetchOnce, type Scene, type Server } from './scene.ts'

const OPERATIONS = [
  'issue',
  'exchange',
  'with actor',
  'with actor and Grant',
  'opaque token',
  'on behalf of',
] as const
export type StatementCounts = Readonly<Record<(typeof OPERATIONS)[number], number>>

export async function countStatements(scene: Scene): Promise<StatementCounts> {
  const server = await scene.addServer({ countStatements: true })
  try {
    const { actorToken, actorTokenWithoutGrant } = server
    const exchanged = (parameters: Parameters<typeof exchange>[0]) =>
      count(server, async () => fill(exchange(parameters), (await scene.issueTokens(1))[0]))
    const counts: StatementCounts = {
      issue: await count(server, async () => issue(scene.managementToken).before),
      exchange: await exchanged({ resource: API }),
      'with actor': await exchanged({ actorToken: actorTokenWithoutGrant }),
      'with actor and Grant': await exchanged({ actorToken }),
      'opaque token': await exchanged({ resource: OPAQUE_API }),
      'on behalf of': await count(server, async () => onBehalfOf({ value: scene.receivedToken }).before),
    }
    return counts
  } finally {
    await server.end()
  }
}

const fill = ({ before, after }: PreparedRequest, subjectToken: string | undefined): string =>
  `${before}${subjectToken}${after}`

/** Counts a second request, because the first may open connections and read clients. */
async function count(server: Server, prepare: () => Promise<string>): Promise<number> {
  await fetchOnce(server.port, await prepare())
  const text = await prepare()
  const before = await server.ask('statements', undefined)
  await fetchOnce(server.port, text)
  return (await server.ask('statements', undefined)) - before
}
