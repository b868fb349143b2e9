/** An adapter that keeps rows in a map, as simple as it can be: the file that lapses of adapters change. */
import type { Adapter, AdapterPayload } from 'oidc-provider'

export interface Row {
  payload: AdapterPayload
  expiresAt: number
}

const copy = (payload: AdapterPayload): AdapterPayload => JSON.parse(JSON.stringify(payload))

export class MapAdapter implements Adapter {
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
