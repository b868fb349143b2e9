/** The one style sheet. Colours are variables, so that the dark scheme changes nothing else. */
export const STYLE =
  `:root{color-scheme:light dark;--page:#f4f6fa;--card:#fff;--text:#1c2333;--soft:#586074;--line:#dfe3ec;--link:#2346a8;--bar:#8da2e0;--good:#14612f;--good-bg:#e2f4e8;--bad:#9b1c0c;--bad-bg:#fdece8;--warn:#6e4a00;--warn-bg:#fdf1cf;--gray:#e9edf3}
@media(prefers-color-scheme:dark){:root{--page:#12161f;--card:#1b212d;--text:#e8ecf4;--soft:#a3adc2;--line:#343d4f;--link:#9db8ff;--bar:#5f78c4;--good:#8fe0ab;--good-bg:#17402a;--bad:#ffb1a3;--bad-bg:#4a1d17;--warn:#f5d384;--warn-bg:#463509;--gray:#2b3343}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
p{margin:0}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
code,pre{unicode-bidi:isolate;font:.88em ui-monospace,monospace}
pre{margin:0;white-space:pre-wrap}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0 1rem}
h2{font-size:1.05rem;margin:0 0 .6rem}
small{display:block;color:var(--soft);font-size:.83em}
em{color:var(--soft)}
.skip{position:absolute;left:-99rem}
.skip:focus{left:.5rem;top:.5rem;background:var(--card);padding:.5rem;z-index:1}
header{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem 1.5rem;padding:.5rem 1.5rem;background:var(--card);border-bottom:1px solid var(--line)}
header nav{display:flex;flex:1;gap:.25rem;white-space:nowrap}
header nav a,.tabs a{padding:.35rem .75rem;border-radius:6px;color:inherit;text-decoration:none}
header a:hover,.tabs a:hover,th a:hover{text-decoration:underline}
[aria-current]{background:var(--gray);font-weight:600}
.who,footer{color:var(--soft)}
main,footer{max-width:1200px;margin:auto;padding:1.5rem 1.5rem 0}
#main:focus{outline:0}
footer{padding-bottom:2rem;font-size:.85rem}
#fresh>*{margin-bottom:1.1rem}
.cards{display:grid;grid-template-columns:repeat(4,1fr) minmax(18rem,2fr);gap:.75rem}
.card,section,.empty,.filter,form.all{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.9rem 1rem}
.card b{display:block;font-size:1.7rem;line-height:1.25}
.card span{color:var(--soft);font-size:.85rem}
.card svg{display:block;width:100%;height:46px;margin:.25rem 0}
.card path{stroke:var(--line)}
.card .bar{stroke:var(--bar);stroke-width:8}
.card .bad{stroke:var(--bad)}
.card summary{font-size:.8rem;color:var(--soft);cursor:pointer}
.numbers{font-size:.78rem;text-align:right;border-spacing:.3rem 0;width:100%;max-width:44rem}
.numbers th{font-weight:400;color:var(--soft);overflow-wrap:normal}
.numbers tbody th{white-space:nowrap}
.card:has([open]){grid-column:1/-1}
.empty{text-align:center;color:var(--soft);padding:2rem}
.records{width:100%;table-layout:fixed;border-collapse:separate;border-spacing:0;background:var(--card);border:1px solid var(--line);border-radius:10px}
.records td,.records th{text-align:left;vertical-align:top;padding:.55rem .85rem;font-weight:400}
.records tr+tr>*,.records tbody>:first-child>*{border-top:1px solid var(--line)}
.records thead th{font-size:.82rem;color:var(--soft);font-weight:600}
.records th a{font-weight:600;color:inherit;text-decoration:none}
.records thead>*>:first-child{width:24%}
.records thead>*>:nth-child(n+3){width:15%}
.records thead>*>:nth-child(4){width:12%}
.records thead>*>:nth-child(6){width:6.6rem}
.pill{display:inline-block;padding:0 .6em;border-radius:1em;background:var(--gray);font-size:.85em;font-weight:600;white-space:nowrap}
.pill.live{color:var(--good);background:var(--good-bg)}
.pill.warn{color:var(--warn);background:var(--warn-bg)}
.pill.bad,.pill:has(.soon){color:var(--bad);background:var(--bad-bg)}
.pill+.pill{margin-left:.3em}
[data-until],time{font-variant-numeric:tabular-nums}
.alarm,.error,#stale{border-radius:6px;padding:.6rem .9rem}
.alarm,.error{background:var(--bad-bg);color:var(--bad);border-left:4px solid}
.alarm a{color:inherit;font-weight:600}
#stale:empty{display:none}
#stale{background:var(--warn-bg);color:var(--warn)}
label{display:block;font-size:.85rem;color:var(--soft)}
input,select,button,.danger,td:nth-child(6) a,form p>a,.pager a{display:inline-block;min-height:2.2rem;padding:.35rem .8rem;border:1px solid #7c8598;border-radius:6px;background:var(--card);color:var(--text);font:inherit;text-decoration:none}
input,select{display:block;width:100%;background:var(--page);padding:.35rem .5rem;margin-top:.15rem}
button,.danger,td:nth-child(6) a,form p>a{font-weight:600;cursor:pointer;white-space:nowrap}
.danger,td:nth-child(6) a{color:var(--bad)!important;border-color:currentColor!important}
.filter button{background:var(--link);color:var(--card)}
button.danger{background:var(--bad);color:var(--card)!important}
form.all{max-width:34rem;display:grid;gap:.7rem;justify-items:start}
form.all label{width:100%}
details.all>summary{cursor:pointer;color:var(--bad);font-weight:600;margin-bottom:.6rem}
.filter{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.6rem,1fr));gap:.6rem;align-items:end}
form p{display:flex;flex-wrap:wrap;gap:.5rem}
.filter p{grid-column:1/-1}
.pager,.tabs{display:flex;gap:.5rem}
.act form{display:flex;flex-wrap:wrap;gap:.6rem;align-items:end}
.act label{flex:1 1 18rem}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:1rem;align-items:start}
.timeline{list-style:none;margin:0;padding:0}
.timeline li{position:relative;padding:0 0 .9rem 1.5rem}
.timeline li::before{content:"";position:absolute;left:.15rem;top:.35rem;width:.6rem;height:.6rem;border-radius:50%;background:var(--link)}
.timeline li::after{content:"";position:absolute;left:.42rem;top:1.1rem;bottom:-.2rem;border-left:2px solid var(--line)}
.timeline li:last-child::after{display:none}
.timeline .bad::before{background:var(--bad)}
.timeline .warn::before{background:var(--warn)}
.timeline .future::before{background:var(--card);box-shadow:inset 0 0 0 2px var(--soft)}
time{color:var(--soft);margin-right:.4rem}
dl{margin:0}
dl div{display:grid;grid-template-columns:minmax(6rem,1fr) 2.6fr;gap:.6rem;padding:.3rem 0;border-top:1px solid var(--line)}
dl div:first-child{border:0}
dt{color:var(--soft)}
dd{margin:0;min-width:0}
.links{margin:1rem 0 0;display:flex;flex-wrap:wrap;gap:.5rem}
@media(max-width:64rem){.cards{grid-template-columns:repeat(4,1fr)}.cards>:last-child{grid-column:1/-1}}
@media screen and (max-width:60rem){
.records,.records tbody,.records tr,.records td,.records th{display:block}
.records thead{display:none}
.records tr+tr{border-top:1px solid var(--line)}
.records tr{padding:.5rem 0}
.records td,.records th{padding:.2rem .9rem;border:0!important}
.records td small{display:inline}
.records :is(b,code)+small{margin-left:.4rem}
.records td:empty{display:none}
}
@media(max-width:46rem){
header,main,footer{padding-left:.9rem;padding-right:.9rem}
.cards{grid-template-columns:1fr 1fr}
dl div{grid-template-columns:1fr;gap:0}
.numbers{font-size:.68rem;border-spacing:.1rem 0}
}
@media(forced-colors:active){.pill,.alarm,.error,#stale,[aria-current]{border:1px solid}.card .bar{stroke:CanvasText}.card .bad{stroke:Highlight}.timeline li::before{border:.3rem solid}}
@media print{
:root{color-scheme:light}
header nav,.skip,.filter,.pager,.danger,td:nth-child(6) a,.act,.links,details.all,#stale{display:none}
body,main{background:#fff;max-width:none;padding:0}
.records tr,section{break-inside:avoid}
.pill{border:1px solid;white-space:normal}
}
`.replaceAll('\n', '')
