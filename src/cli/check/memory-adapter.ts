import type { AdapterFactory, AdapterPayload } from 'oidc-provider'
import { epochTime } from '../../clock.ts'

/** A database of the provider's models for one rehearsal. Nothing of it is shared, and nothing expires meanwhile. */
export function memoryAdapter(): AdapterFactory {
  const stored = new Map<string, AdapterPayload>()
  return (model) => {
    const of = `${model}:`
    const findBy = async (member: 'uid' | 'userCode', value: string) =>
      [...stored].find(([key, payload]) => key.startsWith(of) && payload[member] === value)?.[1]
    return {
      upsert: async (id, payload) => void stored.set(of + id, payload),
      find: async (id) => stored.get(of + id),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('userCode', userCode),
      destroy: async (id) => void stored.delete(of + id),
      async consume(id) {
        const payload = stored.get(of + id)
        if (payload) stored.set(of + id, { ...payload, consumed: epochTime() })
      },
      async revokeByGrantId(grantId) {
        for (const [key, payload] of stored)
          if (key.startsWith(of) && payload.grantId === grantId) stored.delete(key)
      },
    }
  }
}
