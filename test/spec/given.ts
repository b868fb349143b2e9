/** How things stand before a request. */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { storeClient } from '../../fixtures/registration.ts'
import type { Step } from './rule.ts'
import type { Functions, Setting, SettingName } from './settings.ts'

/** Another configuration than the usual one. */
export const on =
  (name: SettingName): Step =>
  (scene) =>
    scene.move(name)

/** The subject token is issued with these members. */
export const issuedWith =
  (members: Readonly<Record<string, unknown>>): Step =>
  (scene) => {
    scene.issuing = { ...scene.issuing, ...members }
  }

/** The functions of the deployment, from here on. */
export const functions =
  (given: Functions): Step =>
  ({ setting }) => {
    setting.functions = { ...setting.functions, ...given }
  }

/** The record has nothing left of what the backend sent, as if other options had been in force. */
export const contextIsLost: Step = ({ setting, id }) =>
  setting.database.sequelize.query(`UPDATE subject_tokens SET context = '{}' WHERE id = X'${id}'`)

/** Accounts that no longer exist. */
export const gone =
  (...ids: readonly string[]): Step =>
  ({ setting }) => {
    for (const id of ids) setting.gone.add(id)
  }

/** A client that the administrator has stored, or changed. */
export const stored =
  (metadata: ClientMetadata): Step =>
  ({ setting }) =>
    storeClient(setting, metadata)

/** A client that the administrator has removed. */
export const removed =
  ({ client_id }: ClientMetadata): Step =>
  ({ setting }) =>
    Reflect.get(setting.provider.Client, 'adapter').destroy(client_id)

/** A call of the store or the adapter fails, such as `store.consume`. */
export const fails =
  (call: string, error = new Error('private: connection lost')): Step =>
  ({ setting }) =>
    void setting.instead.set(call, () => failed(error))

/** The next one fails, those after it do not. */
export const failsOnce =
  (call: string): Step =>
  ({ setting: { instead } }) =>
    void instead.set(call, () => {
      instead.delete(call)
      return failed(new Error('private: connection lost'))
    })

/** What a call that fails returns, whether it is awaited or iterated over. */
function failed(error: Error): object {
  const rejected = Promise.reject(error)
  rejected.catch(() => {})
  return Object.assign(rejected, {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
  })
}

export const works =
  (call: string): Step =>
  ({ setting }) =>
    void setting.instead.delete(call)

/** These steps are taken just before a call of the store or the adapter, once. */
export const meanwhile =
  (name: string, step: Step): Step =>
  (scene) => {
    const { instead } = scene.setting
    instead.set(name, async (call) => {
      instead.delete(name)
      await step(scene)
      return call()
    })
  }

/** From the first call on, time passes in these steps only. */
export const passes =
  (seconds: number): Step =>
  (scene) =>
    scene.pass(seconds)

/** Changes a stored access token, as no request can. */
export async function rewrite(
  { provider }: Pick<Setting, 'provider'>,
  value: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { adapter } = provider.AccessToken
  const stored = (await adapter.find(value)) ?? expect.fail('no such token')
  await adapter.upsert(value, { ...stored, ...changes } as never, 600)
}

let days = 0

/** A day on which no other cell counts anything. Time stands still. */
export const onADayOfItsOwn: Step = (scene) => {
  days += 10
  scene.stopClockAt(Date.UTC(2030, 0, 1 + days, 12))
}
