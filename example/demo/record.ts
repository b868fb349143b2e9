/** The record: what an auditor reads, long after every token has expired. */
import { type Configuration, fetchProtectedResource } from 'openid-client'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import { expecting, type Walk } from './walk.ts'

interface Recorded {
  readonly backend: Configuration
  readonly managementToken: string
  readonly id: string
}

export async function showRecord(
  given: Walk,
  { backend, managementToken, id }: Recorded,
  who: promises.Impersonated,
): Promise<void> {
  screen.step(
    'The record has all of it',
    'Who became whom, why, where and for how long, who stopped it, and that someone tried again.',
  )
  const url = new URL(`${given.baseUrl}/api/subject-tokens/${id}`)
  await expecting(given, 'record', promises.recordResponse(who), () =>
    fetchProtectedResource(backend, managementToken, url, 'GET'),
  )
}
