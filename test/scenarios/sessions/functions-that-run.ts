/** One process of `off.test.ts`: which functions of `src/sessions/` run without the option, by V8's own count. */
import { Session } from 'node:inspector/promises'
import path from 'node:path'
import { publicClient } from '../../../fixtures/clients.ts'
import { startDeployment } from '../../../fixtures/deployment.ts'
import { login, loginClient } from '../../../fixtures/logins.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { impersonationOf } from '../../../src/index.ts'

const ROOM = path.join('src', 'sessions') + path.sep

/** The code of the modules themselves has run before. */
async function functionsDuring(work: () => Promise<void>): Promise<string[]> {
  const inspector = new Session()
  inspector.connect()
  try {
    await inspector.post('Profiler.enable')
    await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    await work()
    const { result } = await inspector.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => url.includes(ROOM))
      .flatMap(({ functions }) => functions)
      .flatMap(({ functionName, ranges }) => ((ranges[0]?.count ?? 0) > 0 ? [functionName] : []))
  } finally {
    inspector.disconnect()
  }
}

/** A whole impersonation, a sign-in, a stop, and one more provider. */
async function everything(): Promise<void> {
  const seen: unknown[] = []
  const deployment = await startDeployment({ clients: [loginClient()] })
  try {
    deployment.provider.on('grant.success', (ctx) => void seen.push(impersonationOf(ctx)))
    const { tokens } = await login(deployment)
    await fetch(`${deployment.issuer}/me`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken }, { client: publicClient() })
    if (response.status !== 200) throw new Error(response.text)
    const { items } = await deployment.impersonation.records.list()
    await deployment.impersonation.records.stop({ id: items[0]?.id ?? '' })
    await fetch(`${deployment.baseUrl}/impersonate`)
    await fetch(`${deployment.issuer}/session/end`)
  } finally {
    await deployment.close()
  }
  if (seen.length === 0 || seen.some((one) => one !== undefined)) throw new Error('impersonationOf')
}

process.send?.(await functionsDuring(everything))
