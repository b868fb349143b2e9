import {
  closeDeployment,
  type Deployment,
  loadDeployment,
  withoutCredentials,
} from 'oidc-provider-impersonation/inside'
import { checkClients, findClients } from './clients.ts'
import { checkDoors, checkMounting } from './doors.ts'
import { dryRun } from './dry-run.ts'
import { clientsIn, type Example, readExample } from './example.ts'
import type { Finding } from './finding.ts'
import { checkSessions } from './sessions.ts'
import { checkStatusLists } from './status-lists.ts'
import { checkStorage } from './storage.ts'

/** The findings as text, and whether one of them is a fault. */
export interface Checked {
  readonly text: string
  readonly failed: boolean
}

interface CheckRequest {
  /** The file of the module to look at. */
  readonly module: string
  /** The file of an example to try. */
  readonly example?: string
  readonly json?: boolean
}

/** Looks at a deployment before its users do. Writes nothing. */
export async function check({ module, example, json = false }: CheckRequest): Promise<Checked> {
  const given = example === undefined ? undefined : readExample(example)
  const deployment = await loadDeployment(module)
  try {
    const found = await lookAt(deployment, given)
    const findings = found.map((finding) => ({ ...finding, text: withoutCredentials(finding.text) }))
    const text = json ? JSON.stringify(findings, null, 2) : `${tableOf(findings)}\n${summaryOf(findings)}`
    return { text, failed: findings.some(({ level }) => level === 'fault') }
  } finally {
    await closeDeployment(deployment)
  }
}

/** All that is found, in the order in which it is told. */
export async function lookAt(deployment: Deployment, example?: Example): Promise<readonly Finding[]> {
  const found = await findClients(deployment, example && clientsIn(example))
  const clients = await checkClients(deployment, found, example && [example.resource])
  return [
    ...(await checkStorage(deployment)),
    checkMounting(deployment),
    ...(await checkStatusLists(deployment)),
    ...clients,
    ...checkDoors(deployment),
    ...(await checkSessions(deployment, found.clients)),
    ...(example ? await dryRun(deployment, example, clients) : []),
  ]
}

const SIGNS = { ok: '✓', note: '–', warning: '!', fault: '✗' } as const

function tableOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ about }) => about.length))
  return (
    findings
      .flatMap(({ level, about, text, advice }) => [
        `${SIGNS[level]} ${about.padEnd(width)}  ${text}`,
        ...(advice === undefined ? [] : [`  ${''.padEnd(width)}  → ${advice}`]),
      ])
      // Texts of the deployment do not control the terminal.
      .map((line) => line.replace(/\p{Cc}/gu, ' '))
      .join('\n')
  )
}

/** Whether all is well, in one line. */
function summaryOf(findings: readonly Finding[]): string {
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  const faults = count('fault')
  return [
    `${findings.length - count('note')} checks`,
    `${faults || 'no'} fault${faults > 1 ? 's' : ''}`,
    ...(count('warning') > 0 ? [`${count('warning')} not strict`] : []),
    ...(count('note') > 0 ? [`${count('note')} not checked`] : []),
  ].join(', ')
}
