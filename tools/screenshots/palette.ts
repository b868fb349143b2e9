/** A picture of a page has few colours. With a palette, its PNG takes less than half of the bytes. */
import { constants, crc32, deflateSync, inflateSync } from 'node:zlib'

interface Picture {
  readonly width: number
  readonly height: number
  /** One number for each pixel: red, green and blue. */
  readonly pixels: Uint32Array
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** @param png - as Chromium writes it: 8 bits a channel, not interlaced. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const palette = paletteOf(pixels)
  const indexes = new Map(palette.map((colour, index) => [colour, index]))
  const rows = Buffer.alloc((width + 1) * height)
  for (const [place, colour] of pixels.entries()) {
    const index = indexes.get(colour) ?? nearest(palette, colour)
    indexes.set(colour, index)
    // Each row begins with the number of its filter: none.
    rows[place + Math.floor(place / width) + 1] = index
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3], 8)
  const colours = Buffer.from(palette.flatMap(channelsOf))
  const packed = deflateSync(rows, { level: constants.Z_BEST_COMPRESSION })
  const chunks = [
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([SIGNATURE, ...chunks])
}

/** The 256 most frequent colours. */
function paletteOf(pixels: Uint32Array): readonly number[] {
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const byCount = [...counts].sort(([, one], [, other]) => other - one)
  return byCount.slice(0, 256).map(([colour]) => colour)
}

const channelsOf = (colour: number): [number, number, number] => [
  colour >> 16,
  (colour >> 8) & 255,
  colour & 255,
]

function nearest(palette: readonly number[], colour: number): number {
  const wanted = channelsOf(colour)
  const distances = palette.map((one) =>
    channelsOf(one).reduce((sum, channel, place) => sum + (channel - (wanted[place] ?? 0)) ** 2, 0),
  )
  return distances.indexOf(Math.min(...distances))
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const made = Buffer.alloc(typed.length + 8)
  made.writeUInt32BE(data.length)
  typed.copy(made, 4)
  made.writeUInt32BE(crc32(typed), typed.length + 4)
  return made
}

function decode(png: Buffer): Picture {
  const data: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    const type = png.toString('latin1', at + 4, at + 8)
    if (type === 'IDAT') data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const channels = png[25] === 6 ? 4 : 3
  const bytes = unfiltered(inflateSync(Buffer.concat(data)), width * channels, channels)
  const pixels = new Uint32Array(width * height)
  for (const place of pixels.keys()) pixels[place] = bytes.readUIntBE(place * channels, 3)
  return { width, height, pixels }
}

/** PNG §9: each byte is stored as its difference from what its neighbours predict. */
function unfiltered(rows: Buffer, length: number, step: number): Buffer {
  const bytes = Buffer.alloc((rows.length / (length + 1)) * length)
  for (let place = 0; place < bytes.length; place += 1) {
    const [row, column] = [Math.floor(place / length), place % length]
    const left = column < step ? 0 : (bytes[place - step] ?? 0)
    const up = bytes[place - length] ?? 0
    const corner = column < step ? 0 : (bytes[place - length - step] ?? 0)
    const predicted =
      [0, left, up, (left + up) >> 1, paeth(left, up, corner)][rows[row * (length + 1)] ?? 0] ?? 0
    bytes[place] = (rows[row * (length + 1) + 1 + column] ?? 0) + predicted
  }
  return bytes
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}
