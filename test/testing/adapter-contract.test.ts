/** The contract of an adapter: a correct one passes, and each planted fault is found. */
import { expect } from 'chai'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { adapterContract } from '../../src/testing/index.ts'
import { failuresOf } from './collected.ts'

interface Row {
  payload: AdapterPayload
  expiresAt: number
}

const copy = (payload: AdapterPayload): AdapterPayload => JSON.parse(JSON.stringify(payload))

/** Keeps rows in a map. Each method can be replaced by one that is wrong. */
class MapAdapter implements Adapter {
  readonly rows: Map<string, Row>
  readonly model: string
  constructor(rows: Map<string, Row>, model: string) {
    this.rows = rows
    this.model = model
  }

  key(id: string): string {
    return `${this.model}:${id}`
  }

  live(row: Row | undefined): AdapterPayload | undefined {
    return row && row.expiresAt > Date.now() ? copy(row.payload) : undefined
  }

  all(): [key: string, row: Row][] {
    return [...this.rows].filter(([key]) => key.startsWith(`${this.model}:`))
  }

  by(member: string, value: string): AdapterPayload | undefined {
    const found = this.all().filter(([, row]) => row.payload[member] === value)
    return found.map(([, row]) => this.live(row)).find((payload) => payload !== undefined)
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const consumed = this.rows.get(this.key(id))?.payload.consumed
    const expiresAt = expiresIn === undefined ? Infinity : Date.now() + expiresIn * 1000
    const stored = { ...copy(payload), ...(consumed !== undefined && { consumed }) }
    this.rows.set(this.key(id), { payload: stored, expiresAt })
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.live(this.rows.get(this.key(id)))
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.by('uid', uid)
  }

  async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
    return this.by('userCode', code)
  }

  async consume(id: string): Promise<void> {
    const row = this.rows.get(this.key(id))
    if (row) row.payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id: string): Promise<void> {
    this.rows.delete(this.key(id))
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, row] of this.all()) if (row.payload.grantId === grantId) this.rows.delete(key)
  }
}

type Methods = { [Name in keyof MapAdapter]?: unknown } & ThisType<MapAdapter>

/** What a hurried author gets wrong. */
const FAULTS: Readonly<Record<string, Methods>> = {
  'one storage for all models': { key: (id: string) => id },
  'ids without regard to case': {
    key(id: string) {
      return `${this.model}:${id.toLowerCase()}`
    },
  },
  'ids cut off': {
    key(id: string) {
      return `${this.model}:${id.slice(0, 64)}`
    },
  },
  'no expiry': {
    async upsert(id: string, payload: AdapterPayload) {
      await MapAdapter.prototype.upsert.call(this, id, payload)
    },
  },
  'an expiry for what has none': {
    async upsert(id: string, payload: AdapterPayload, expiresIn = 3600) {
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'an expiry in milliseconds': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn && expiresIn / 1000)
    },
  },
  'the first expiry kept': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const expiresAt = this.rows.get(this.key(id))?.expiresAt
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
      const row = this.rows.get(this.key(id))
      if (row && expiresAt !== undefined) row.expiresAt = expiresAt
    },
  },
  'an upsert that revives what was consumed': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      this.rows.delete(this.key(id))
      await MapAdapter.prototype.upsert.call(this, id, payload, expiresIn)
    },
  },
  'an upsert that merges': {
    async upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const merged = { ...this.rows.get(this.key(id))?.payload, ...payload }
      await MapAdapter.prototype.upsert.call(this, id, 'userCode' in payload ? merged : payload, expiresIn)
      const row = this.rows.get(this.key(id))
      if (row && String(row.payload.text).length > 65_535) row.payload.text = 'cut off'
    },
  },
  'consumption that ends the life': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row)
        Object.assign(row, { expiresAt: Infinity, payload: { ...row.payload, consumed: 1_800_000_000 } })
      await MapAdapter.prototype.consume.call(this, id)
    },
  },
  'consumption in milliseconds': {
    async consume(id: string) {
      const row = this.rows.get(this.key(id))
      if (row) row.payload.consumed = Date.now()
    },
  },
  'consumption that deletes': {
    async consume(id: string) {
      this.rows.delete(this.key(id))
    },
  },
  'no index of uids': { findByUid: async () => undefined },
  'any session for a uid': {
    async findByUid() {
      return this.live(this.all()[0]?.[1])
    },
  },
  'the wrong user code': {
    async findByUserCode(code: string) {
      const found = this.all().find(([, row]) => String(row.payload.userCode).startsWith(code.slice(0, 8)))
      return this.live(found?.[1])
    },
  },
  'look-ups that know no expiry': {
    by(member: string, value: string) {
      return this.all().find(([, row]) => row.payload[member] === value)?.[1].payload
    },
  },
  'no index of grants': { revokeByGrantId: async () => {} },
  'grants of access tokens only': {
    async revokeByGrantId(grantId: string) {
      if (this.model === 'AccessToken') await MapAdapter.prototype.revokeByGrantId.call(this, grantId)
    },
  },
  'a grant that ends every grant': {
    async revokeByGrantId() {
      for (const [key, row] of this.all()) if (row.payload.grantId) this.rows.delete(key)
    },
  },
  'a grant that ends sessions': {
    async revokeByGrantId(grantId: string) {
      for (const [key, row] of this.rows) if (row.payload.grantId === grantId) this.rows.delete(key)
    },
  },
  'destroyed rows that stay': { destroy: async () => {} },
  'a list of known models': {
    key(id: string) {
      if (this.model.endsWith('Release')) throw new Error('unknown model')
      return `${this.model}:${id}`
    },
  },
  'its own objects handed out': {
    live(row: Row | undefined) {
      return row && row.expiresAt > Date.now() ? row.payload : undefined
    },
  },
}

describe('the contract of an adapter', () => {
  const failures = (fault: Methods = {}) =>
    failuresOf((runner) =>
      adapterContract({
        ...runner,
        create: async () => {
          const rows = new Map<string, Row>()
          return { adapter: (model) => Object.assign(new MapAdapter(rows, model), fault) }
        },
      }),
    )

  it('is kept by a plain map', async () => {
    expect(await failures()).to.deep.equal([])
  })

  for (const [fault, methods] of Object.entries(FAULTS)) {
    it(`is broken by: ${fault}`, async () => {
      expect(await failures(methods)).not.to.deep.equal([])
    })
  }
})
